#include "op_keys.h"

#include <algorithm>
#include <string>

#include "hash.h"

namespace opguard::analysis {
namespace {

// Bits 0-23 argument positions, 24-31 output positions.
std::uint32_t PlaceBit(const store::SlotRow& slot) {
  const auto position = static_cast<std::uint32_t>(std::max(slot.position, 0));
  if (slot.role == "in") return 1U << std::min(position, 23U);
  if (slot.role == "out") return 1U << (24U + std::min(position, 7U));
  return 0;
}

bool IsUninitialised(const std::string& name) {
  return name.find("::empty") != std::string::npos ||
         name.find("::new_empty") != std::string::npos ||
         name.find("::resize_") != std::string::npos;
}

bool IsSubset(std::uint32_t a, std::uint32_t b) { return (a & b) == a; }

}  // namespace

std::int32_t Similarity(const OpFeatures& a, const OpFeatures& b) {
  if (a.operation == 0 || b.operation == 0) return kNoMatch;
  const bool same_outputs = a.outputs != 0 && a.outputs == b.outputs;
  if (a.operation != b.operation) return same_outputs ? kSameValueOnly : kNoMatch;
  if (!IsSubset(a.places, b.places) && !IsSubset(b.places, a.places)) return kNoMatch;
  const bool same_inputs = a.inputs != 0 && a.inputs == b.inputs;
  const bool same_first = a.first_input != 0 && a.first_input == b.first_input;
  const bool same_module = a.module == b.module;
  const bool same_shapes = a.shapes == b.shapes;
  const bool same_arguments = a.arguments == b.arguments;
  const bool same_frame = a.frame != 0 && a.frame == b.frame;
  // The operator alone is too little: an op that left one place and one that came in another.
  const bool has_evidence = same_inputs || same_outputs || same_first || same_frame ||
                            same_shapes || a.ranks == b.ranks || (same_module && a.module != 0) ||
                            (same_arguments && a.arguments != 0);
  if (!has_evidence) return kNoMatch;
  std::int32_t score = 10;
  if (same_module) score += 4;
  if (same_shapes) score += 3;
  if (a.dtypes == b.dtypes) score += 1;
  if (same_arguments) score += 2;
  if (same_frame) score += 2;
  // More than a whole further match: of two ops that changed places the one whose values agree is
  // better than both with values that do not (the other one is rescued afterwards).
  if (same_inputs) {
    score += 24;
  } else if (same_first) {
    score += 4;
  }
  if (same_outputs) score += 12;
  return score;
}

DictionaryHashes::DictionaryHashes(const Dictionary& dictionary) {
  for (const store::SchemaRow& row : dictionary.schemas) {
    schemas_.push_back(Mix(HashText(row.name), HashText(row.overload)));
    draws_.push_back((row.traits & store::kDraws) != 0);
    uninitialised_.push_back(IsUninitialised(row.name));
  }
  for (const store::TextRow& row : dictionary.arguments) arguments_.push_back(HashText(row.text));
  for (const store::ModuleRow& row : dictionary.modules) {
    modules_.push_back(Mix(HashText(row.name), HashText(row.class_name)));
  }
  if (!arguments_.empty()) arguments_[0] = 0;
  if (!modules_.empty()) modules_[0] = 0;
  for (const store::SlotRow& row : dictionary.slots) {
    const auto place = static_cast<std::uint64_t>(row.position) << 32 ^
                       static_cast<std::uint64_t>(static_cast<std::uint32_t>(row.item));
    slots_.push_back(Mix(HashText(row.role), place));
    place_bits_.push_back(PlaceBit(row));
    is_output_.push_back(row.role != "in");
    is_mutated_.push_back(row.role == "mut");
  }
  for (const Geometry& geometry : dictionary.geometries) {
    shapes_.push_back(HashText(geometry.row.sizes));
    dtypes_.push_back(HashText(geometry.row.dtype));
    ranks_.push_back(static_cast<std::uint8_t>(std::min<std::size_t>(geometry.sizes.size(), 255)));
    is_large_.push_back(geometry.numel > 1);
  }
}

SideKeys::SideKeys(const Trace& trace, const DictionaryHashes& hashes)
    : trace_(trace), hashes_(hashes), unwritten_(UnwrittenTensors()) {
  exact_.resize(trace.ops());
  inputs_.resize(trace.ops());
  for (std::size_t op = 0; op < trace.ops(); ++op) {
    exact_[op] = Exact(op);
    inputs_[op] = Inputs(op);
    digest_ = Mix(Mix(digest_, exact_[op]), inputs_[op] ^ Outputs(op));
  }
}

std::vector<bool> SideKeys::UnwrittenTensors() const {
  std::vector<bool> tensors(trace_.tensor_slot.size()), storages;
  for (std::size_t op = 0; op < trace_.ops(); ++op) {
    // A call inside an op is not seen to be written to.
    const bool allocates = hashes_.uninitialised_[trace_.schema[op]] != 0 &&
                           (trace_.flags[op] & store::kInnerCall) == 0;
    for (std::uint64_t t = trace_.first_tensor[op]; t < trace_.first_tensor[op + 1]; ++t) {
      const std::uint32_t storage = trace_.tensor_storage[t], slot = trace_.tensor_slot[t];
      if (hashes_.is_output_[slot] && trace_.tensor_state[t] != TensorState::kView) {
        if (allocates && storage >= storages.size()) storages.resize(storage + 1);
        if (storage < storages.size()) storages[storage] = allocates;
      }
      tensors[t] = storage < storages.size() && storages[storage];
    }
  }
  return tensors;
}

std::uint64_t SideKeys::Operation(std::size_t op) const {
  constexpr std::uint8_t kKind = store::kRecompute | store::kInnerCall | store::kCompiledGraph;
  return hashes_.schemas_[trace_.schema[op]] + (trace_.flags[op] & kKind);
}

SideKeys::Shape SideKeys::ShapeOf(std::size_t op) const {
  Shape shape{1, 1, 1, 0};
  for (std::uint64_t t = trace_.first_tensor[op]; t < trace_.first_tensor[op + 1]; ++t) {
    const std::uint32_t geometry = trace_.tensor_geometry[t], slot = trace_.tensor_slot[t];
    shape.shapes = Mix(shape.shapes, hashes_.slots_[slot] + hashes_.shapes_[geometry]);
    shape.ranks = Mix(shape.ranks, hashes_.slots_[slot] + hashes_.ranks_[geometry]);
    shape.dtypes = Mix(shape.dtypes, hashes_.dtypes_[geometry]);
    shape.places |= hashes_.place_bits_[slot];
  }
  return shape;
}

bool SideKeys::HasValue(std::size_t tensor) const {
  return !unwritten_[tensor] && (trace_.tensor_state[tensor] == TensorState::kFingerprinted ||
                                 trace_.tensor_state[tensor] == TensorState::kTrusted);
}

std::uint64_t SideKeys::Exact(std::size_t op) const {
  std::uint64_t key = Mix(Operation(op), hashes_.modules_[ModuleOf(trace_, op)]);
  key = Mix(key, hashes_.arguments_[trace_.arguments[op]]);
  for (std::uint64_t t = trace_.first_tensor[op]; t < trace_.first_tensor[op + 1]; ++t) {
    const std::uint32_t geometry = trace_.tensor_geometry[t];
    key = Mix(key, hashes_.slots_[trace_.tensor_slot[t]] +
                       (hashes_.shapes_[geometry] ^ (hashes_.dtypes_[geometry] << 1)));
  }
  return key;
}

std::uint64_t SideKeys::Inputs(std::size_t op) const {
  std::uint64_t digest = 0;
  for (std::uint64_t t = trace_.first_tensor[op]; t < trace_.first_tensor[op + 1]; ++t) {
    if (hashes_.is_output_[trace_.tensor_slot[t]] || !HasValue(t)) continue;
    digest = Mix(digest, trace_.fingerprint[t] ^ hashes_.slots_[trace_.tensor_slot[t]]);
  }
  return digest;
}

std::uint64_t SideKeys::Outputs(std::size_t op) const {
  const std::uint32_t schema = trace_.schema[op];
  if (hashes_.draws_[schema] || hashes_.uninitialised_[schema]) return 0;
  std::uint64_t digest = 0;
  for (std::uint64_t t = trace_.first_tensor[op]; t < trace_.first_tensor[op + 1]; ++t) {
    if (!hashes_.is_output_[trace_.tensor_slot[t]] || !HasValue(t)) continue;
    const std::uint32_t geometry = trace_.tensor_geometry[t];
    if (!hashes_.is_large_[geometry]) continue;
    digest = Mix(digest, trace_.fingerprint[t] ^ hashes_.shapes_[geometry]);
  }
  return digest;
}

std::uint64_t SideKeys::Reads(std::size_t op) const {
  return inputs_[op] == 0 ? 0 : Mix(Operation(op), inputs_[op]);
}

std::uint64_t SideKeys::Identity(std::size_t op) const {
  const std::uint64_t outputs = Outputs(op);
  if (inputs_[op] == 0 && outputs == 0) return 0;
  return Mix(Mix(Operation(op), inputs_[op]), outputs);
}

void SideKeys::AppendValues(std::size_t op, const std::vector<bool>& weight_storages,
                            std::vector<std::uint64_t>& weights,
                            std::vector<std::uint64_t>& others) const {
  const std::uint32_t schema = trace_.schema[op];
  if (hashes_.draws_[schema] || hashes_.uninitialised_[schema]) return;
  for (std::uint64_t t = trace_.first_tensor[op]; t < trace_.first_tensor[op + 1]; ++t) {
    const std::uint32_t geometry = trace_.tensor_geometry[t], storage = trace_.tensor_storage[t];
    if (!hashes_.is_large_[geometry] || !HasValue(t)) continue;
    const bool is_weight = storage < weight_storages.size() && weight_storages[storage];
    (is_weight ? weights : others).push_back(Mix(trace_.fingerprint[t], hashes_.shapes_[geometry]));
  }
}

std::vector<bool> SideKeys::WeightStorages() const {
  std::vector<bool> is_weight;
  for (std::size_t op = 0; op < trace_.ops(); ++op) {
    if (trace_.phase[op] != Phase::kOptimizer) continue;
    for (std::uint64_t t = trace_.first_tensor[op]; t < trace_.first_tensor[op + 1]; ++t) {
      const std::uint32_t storage = trace_.tensor_storage[t];
      if (!hashes_.is_mutated_[trace_.tensor_slot[t]] || storage >= trace_.storages.size())
        continue;
      if (storage >= is_weight.size()) is_weight.resize(storage + 1);
      is_weight[storage] = true;
    }
  }
  return is_weight;
}

std::uint64_t SideKeys::Key(KeyLevel level, std::size_t op) const {
  const std::uint64_t module = hashes_.modules_[ModuleOf(trace_, op)];
  switch (level) {
    case KeyLevel::kExact:
      return exact_[op];
    case KeyLevel::kModuleShapes:
      return Mix(Mix(Operation(op), module), ShapeOf(op).shapes);
    case KeyLevel::kModule:
      return Mix(Operation(op), module);
    case KeyLevel::kShapes:
      return Mix(Operation(op), ShapeOf(op).shapes);
    case KeyLevel::kOperator:
      break;
  }
  return Operation(op);
}

OpFeatures SideKeys::Features(std::size_t op) const {
  const Shape shape = ShapeOf(op);
  OpFeatures features{};
  features.operation = Operation(op);
  features.module = hashes_.modules_[ModuleOf(trace_, op)];
  features.shapes = shape.shapes;
  features.ranks = shape.ranks;
  features.dtypes = shape.dtypes;
  features.places = shape.places;
  features.arguments = hashes_.arguments_[trace_.arguments[op]];
  features.inputs = inputs_[op];
  features.outputs = Outputs(op);
  const std::uint64_t first = trace_.first_tensor[op];
  if (first < trace_.first_tensor[op + 1] && HasValue(first) &&
      !hashes_.is_output_[trace_.tensor_slot[first]]) {
    features.first_input = Mix(1, trace_.fingerprint[first]);
  }
  const auto& stacks = trace_.facts.stacks;
  const auto& frames = trace_.facts.frames;
  if (trace_.stack[op] != 0 && trace_.stack[op] < stacks.size()) {
    const auto frame = static_cast<std::size_t>(stacks[trace_.stack[op]].frame);
    if (frame != 0 && frame < frames.size()) {
      // The line's distance is left out: an edit above moves every line below it.
      features.frame = Mix(HashText(frames[frame].path), HashText(frames[frame].function));
    }
  }
  return features;
}

}  // namespace opguard::analysis
