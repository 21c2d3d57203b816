#include "analysis/testing/trace_builder.h"

#include <optional>
#include <unordered_map>
#include <utility>

namespace opguard::analysis::testing {
namespace {

std::uint64_t HashText(const std::string& text, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93ULL;
  return hash ^ (hash >> 29);
}

std::string ListText(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(numbers[i]);
  }
  return text + "]";
}

std::vector<std::int64_t> ContiguousStrides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * sizes[i - 1];
  return strides;
}

// First-use ids of one table.
class Ids {
 public:
  std::pair<std::int64_t, bool> Of(const std::string& key) {
    const auto next = static_cast<std::int64_t>(ids_.size()) + 1;
    const auto [at, is_new] = ids_.emplace(key, next);
    return {at->second, is_new};
  }

 private:
  std::unordered_map<std::string, std::int64_t> ids_;
};

struct PendingTensor {
  std::int64_t slot;
  Tensor tensor;
  std::optional<store::StatisticRow> statistic;
};

}  // namespace

std::uint64_t ValueOf(const std::string& label) { return HashText(label, 0); }

Tensor::Tensor(std::string storage_name, std::vector<std::int64_t> tensor_sizes)
    : storage(std::move(storage_name)),
      sizes(std::move(tensor_sizes)),
      strides(ContiguousStrides(sizes)),
      fingerprint(ValueOf(storage)),
      unordered(HashText(storage, 1)) {}

Tensor Tensor::Value(const std::string& label) const {
  Tensor copy = *this;
  copy.fingerprint = ValueOf(label);
  copy.unordered = HashText(label, 1);
  return copy;
}
Tensor Tensor::Permuted(const std::string& how) const {
  Tensor copy = *this;
  copy.fingerprint = HashText(how, fingerprint);
  return copy;
}
Tensor Tensor::In(const std::string& storage_name) const {
  Tensor copy = *this;
  copy.storage = storage_name;
  return copy;
}
Tensor Tensor::Dtype(const std::string& name) const {
  Tensor copy = *this;
  copy.dtype = name;
  return copy;
}
Tensor Tensor::Device(const std::string& name) const {
  Tensor copy = *this;
  copy.device = name;
  return copy;
}
Tensor Tensor::Sizes(std::vector<std::int64_t> values) const {
  Tensor copy = *this;
  copy.sizes = std::move(values);
  copy.strides = ContiguousStrides(copy.sizes);
  return copy;
}
Tensor Tensor::Strides(std::vector<std::int64_t> values) const {
  Tensor copy = *this;
  copy.strides = std::move(values);
  return copy;
}
Tensor Tensor::Offset(std::int64_t elements) const {
  Tensor copy = *this;
  copy.storage_offset = elements;
  return copy;
}
Tensor Tensor::Layout(const std::string& name) const {
  Tensor copy = *this;
  copy.layout = name;
  return copy;
}
Tensor Tensor::Trusted() const {
  Tensor copy = *this;
  copy.state = TensorState::kTrusted;
  return copy;
}
Tensor Tensor::View() const {
  Tensor copy = *this;
  copy.state = TensorState::kView;
  return copy;
}
Tensor Tensor::Unreadable() const {
  Tensor copy = *this;
  copy.state = TensorState::kUnreadable;
  return copy;
}

struct TraceBuilder::Impl {
  store::Batch batch;
  Ids lanes, schemas, arguments, insides, slots, geometries, modules, frames, stacks, nodes,
      storages, sources;
  std::int64_t steps = 0, ops = 0, tensors = 0, gaps = 0, notes = 0;

  store::Phase phase = store::Phase::kOther;
  std::int64_t lane = 0, module = 0, stack = 0;

  bool is_open = false;
  store::OpRow op{};
  store::SchemaRow schema{};
  std::string argument_text, inside_text;
  std::vector<PendingTensor> inputs, outputs, mutated;
  PendingTensor* last_tensor = nullptr;
  std::int32_t input_position = 0, output_position = 0;

  std::int64_t LaneId(const std::string& name) {
    const auto [id, is_new] = lanes.Of(name);
    if (is_new) batch.lanes.push_back({id, name});
    return id;
  }
  std::int64_t SlotId(const std::string& role, std::int32_t position, std::int32_t item) {
    const auto [id, is_new] =
        slots.Of(role + std::to_string(position) + "/" + std::to_string(item));
    if (is_new) batch.slots.push_back({id, role, position, item});
    return id;
  }
  std::int64_t GeometryId(const Tensor& tensor) {
    const std::string sizes = ListText(tensor.sizes), strides = ListText(tensor.strides);
    const auto [id, is_new] = geometries.Of(tensor.dtype + "/" + tensor.device + sizes + strides +
                                            std::to_string(tensor.storage_offset) + tensor.layout);
    if (is_new) {
      batch.geometries.push_back(
          {id, tensor.dtype, tensor.device, sizes, strides, tensor.storage_offset, tensor.layout});
    }
    return id;
  }
  std::int64_t StorageId(const std::string& name) {
    const auto [id, is_new] = storages.Of(name);
    if (is_new) batch.storages.push_back({id, 1024, ops, 0});
    return id;
  }
  std::int64_t TextId(Ids& ids, std::vector<store::TextRow>& rows, const std::string& text) {
    if (text.empty()) return 0;
    const auto [id, is_new] = ids.Of(text);
    if (is_new) rows.push_back({id, text});
    return id;
  }
  std::int64_t StackId(const std::vector<std::string>& texts) {
    std::int64_t parent = 0;
    for (const std::string& text : texts) {
      const auto [frame, is_new_frame] = frames.Of(text);
      if (is_new_frame) {
        const auto function_at = text.rfind(':');
        const auto line_at = text.rfind(':', function_at - 1);
        batch.frames.push_back({frame, text.substr(0, line_at),
                                std::stoll(text.substr(line_at + 1, function_at - line_at - 1)),
                                text.substr(function_at + 1), 0});
      }
      const auto [id, is_new] = stacks.Of(std::to_string(parent) + "/" + std::to_string(frame));
      if (is_new) batch.stacks.push_back({id, parent, frame});
      parent = id;
    }
    return parent;
  }

  void Add(std::vector<PendingTensor>& to, std::int64_t slot, const Tensor& tensor) {
    to.push_back({slot, tensor, std::nullopt});
    last_tensor = &to.back();
  }

  void Write(PendingTensor& pending) {
    const Tensor& tensor = pending.tensor;
    const bool has_fingerprint =
        tensor.state == TensorState::kFingerprinted || tensor.state == TensorState::kTrusted;
    batch.tensors.push_back({++tensors, op.id, pending.slot, GeometryId(tensor),
                             StorageId(tensor.storage), tensor.state, has_fingerprint,
                             has_fingerprint ? tensor.fingerprint : 0,
                             has_fingerprint ? tensor.unordered : 0});
    if (pending.statistic) {
      pending.statistic->tensor = tensors;
      batch.statistics.push_back(*pending.statistic);
    }
  }

  void Close() {
    if (!is_open) return;
    is_open = false;
    const auto [schema_id, is_new] = schemas.Of(schema.name + "." + schema.overload);
    if (is_new) {
      schema.id = schema_id;
      batch.schemas.push_back(schema);
    }
    op.schema = schema_id;
    op.arguments = TextId(arguments, batch.arguments, argument_text);
    op.inside = TextId(insides, batch.insides, inside_text);
    op.first_tensor = tensors + 1;
    op.tensors = static_cast<std::int32_t>(inputs.size() + outputs.size() + mutated.size());
    for (auto* group : {&inputs, &outputs, &mutated}) {
      for (PendingTensor& pending : *group) Write(pending);
      group->clear();
    }
    last_tensor = nullptr;
    batch.ops.push_back(op);
  }
};

TraceBuilder::TraceBuilder() : impl_(std::make_unique<Impl>()) {
  Meta("mode", "full").Meta("level", "outer").Meta("rank", "0").Meta("world_size", "1");
  Meta("role", "rank").Lane("main");
}
TraceBuilder::~TraceBuilder() = default;
TraceBuilder::TraceBuilder(const TraceBuilder& other) : impl_(std::make_unique<Impl>()) {
  *this = other;
}
TraceBuilder& TraceBuilder::operator=(const TraceBuilder& other) {
  if (this == &other) return *this;
  other.impl_->Close();  // so that no pointer into the open op is copied
  *impl_ = *other.impl_;
  return *this;
}

TraceBuilder& TraceBuilder::Step() {
  impl_->Close();
  impl_->batch.steps.push_back({++impl_->steps, impl_->ops + 1});
  return *this;
}
TraceBuilder& TraceBuilder::Phase(store::Phase phase) {
  impl_->Close();
  impl_->phase = phase;
  return *this;
}
TraceBuilder& TraceBuilder::Lane(const std::string& name) {
  impl_->Close();
  impl_->lane = impl_->LaneId(name);
  return *this;
}
TraceBuilder& TraceBuilder::Module(const std::string& name, const std::string& class_name) {
  impl_->Close();
  const auto [id, is_new] = impl_->modules.Of(name + "/" + class_name);
  if (is_new) impl_->batch.modules.push_back({id, name, class_name});
  impl_->module = id;
  return *this;
}
TraceBuilder& TraceBuilder::NoModule() {
  impl_->Close();
  impl_->module = 0;
  return *this;
}
TraceBuilder& TraceBuilder::At(const std::string& path, std::int64_t line,
                               const std::string& function) {
  return Stack({path + ":" + std::to_string(line) + ":" + function});
}
TraceBuilder& TraceBuilder::Stack(const std::vector<std::string>& frames) {
  impl_->Close();
  impl_->stack = impl_->StackId(frames);
  return *this;
}

TraceBuilder& TraceBuilder::Op(const std::string& name) {
  impl_->Close();
  if (impl_->steps == 0) Step();
  const auto dot = name.find('.');
  const bool has_overload = dot != std::string::npos;
  impl_->schema = {0, name.substr(0, dot), has_overload ? name.substr(dot + 1) : "", name + "(...)",
                   0};
  impl_->op = {
      ++impl_->ops, impl_->lane, impl_->phase, 0, 0, impl_->module, impl_->stack, 0, 0, 0, 0, 0, 0};
  impl_->argument_text.clear();
  impl_->inside_text.clear();
  impl_->input_position = impl_->output_position = 0;
  impl_->is_open = true;
  return *this;
}
TraceBuilder& TraceBuilder::In(const Tensor& tensor) {
  impl_->Add(impl_->inputs, impl_->SlotId("in", impl_->input_position++, -1), tensor);
  return *this;
}
TraceBuilder& TraceBuilder::InList(const std::vector<Tensor>& tensors) {
  const std::int32_t position = impl_->input_position++;
  std::int32_t item = 0;
  for (const Tensor& tensor : tensors) {
    impl_->Add(impl_->inputs, impl_->SlotId("in", position, item++), tensor);
  }
  return *this;
}
TraceBuilder& TraceBuilder::Out(const Tensor& tensor) {
  impl_->Add(impl_->outputs, impl_->SlotId("out", impl_->output_position++, -1), tensor);
  return *this;
}
TraceBuilder& TraceBuilder::OutList(const std::vector<Tensor>& tensors) {
  const std::int32_t position = impl_->output_position++;
  std::int32_t item = 0;
  for (const Tensor& tensor : tensors) {
    impl_->Add(impl_->outputs, impl_->SlotId("out", position, item++), tensor);
  }
  return *this;
}
TraceBuilder& TraceBuilder::Mut(std::int32_t position, const Tensor& tensor, std::int32_t item) {
  impl_->Add(impl_->mutated, impl_->SlotId("mut", position, item), tensor);
  return *this;
}
TraceBuilder& TraceBuilder::Arg(const std::string& name, const std::string& value) {
  if (!impl_->argument_text.empty()) impl_->argument_text += '\n';
  impl_->argument_text += name + "=" + value;
  return *this;
}
TraceBuilder& TraceBuilder::Inside(const std::string& line) {
  if (!impl_->inside_text.empty()) impl_->inside_text += '\n';
  impl_->inside_text += line;
  return *this;
}
TraceBuilder& TraceBuilder::Traits(std::uint32_t traits) {
  impl_->schema.traits = traits;
  return *this;
}
TraceBuilder& TraceBuilder::Signature(const std::string& signature) {
  impl_->schema.signature = signature;
  return *this;
}
TraceBuilder& TraceBuilder::Flags(std::uint32_t flags) {
  impl_->op.flags = flags;
  return *this;
}
TraceBuilder& TraceBuilder::Node(const std::string& name, std::int64_t forward_op) {
  const auto [id, is_new] = impl_->nodes.Of(name + "/" + std::to_string(forward_op));
  if (is_new) impl_->batch.nodes.push_back({id, name, forward_op});
  impl_->op.node = id;
  return *this;
}
TraceBuilder& TraceBuilder::Rng(const std::string& generator, std::uint64_t seed,
                                std::uint64_t before, std::uint64_t after) {
  impl_->batch.rngs.push_back({impl_->ops, generator, seed, before, after});
  return *this;
}
TraceBuilder& TraceBuilder::Statistic(double minimum, double maximum, std::int64_t zeros,
                                      std::int64_t nans, std::int64_t infs) {
  impl_->last_tensor->statistic = store::StatisticRow{0, nans, infs, zeros, minimum, maximum};
  return *this;
}
TraceBuilder& TraceBuilder::Note(const std::string& code, const std::string& text) {
  impl_->batch.notes.push_back({++impl_->notes, impl_->ops, code, text});
  return *this;
}
std::int64_t TraceBuilder::LastOp() const { return impl_->ops; }

TraceBuilder& TraceBuilder::Meta(const std::string& key, const std::string& value) {
  impl_->batch.trace.push_back({key, value});
  return *this;
}
TraceBuilder& TraceBuilder::Environment(const std::string& key, const std::string& value) {
  impl_->batch.environment.push_back({key, value});
  return *this;
}
TraceBuilder& TraceBuilder::Gap(std::int64_t first_step, std::int64_t last_step,
                                const std::string& reason) {
  impl_->batch.gaps.push_back({++impl_->gaps, first_step, last_step, reason});
  return *this;
}
TraceBuilder& TraceBuilder::Source(const std::string& path, const std::string& text) {
  const auto [id, is_new] = impl_->sources.Of(path);
  if (is_new) {
    impl_->batch.sources.push_back(
        {id, path, std::to_string(ValueOf(text)), static_cast<std::int64_t>(text.size()), text});
  }
  return *this;
}
TraceBuilder& TraceBuilder::Alias(const std::string& storage, const std::string& older) {
  const std::int64_t older_id = impl_->StorageId(older), id = impl_->StorageId(storage);
  for (store::StorageRow& row : impl_->batch.storages) {
    if (row.id == id) row.alias_of = older_id;
  }
  return *this;
}

store::Batch TraceBuilder::Take() {
  impl_->Close();
  return std::exchange(impl_->batch, store::Batch());
}

}  // namespace opguard::analysis::testing
