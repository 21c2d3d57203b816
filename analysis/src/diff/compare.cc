#include "compare.h"

namespace opguard::analysis {
namespace {

Role RoleOf(const std::string& role) {
  if (role == "in") return Role::kInput;
  return role == "mut" ? Role::kMutated : Role::kOutput;
}

}  // namespace

PairFacts::PairFacts(const TracePair& traces, const Alignment& alignment)
    : pair_(traces), alignment_(alignment) {
  for (const store::SchemaRow& row : traces.dictionary.schemas) ops_.push_back(FactsOf(row));
  for (const store::SlotRow& row : traces.dictionary.slots) {
    slots_.push_back({RoleOf(row.role), row.position});
  }
}

bool PairFacts::HasValue(Side side, std::size_t record) const {
  const TensorState state = trace(side).tensor_state[record];
  return state == TensorState::kFingerprinted || state == TensorState::kTrusted;
}

bool PairFacts::Reads(Side side, std::size_t op, std::size_t record) const {
  const SlotFacts& slot = SlotOf(side, record);
  return slot.role == Role::kInput && !Facts(side, op).Overwrites(slot.position);
}

std::uint8_t PairFacts::CompareGeometry(std::uint32_t a, std::uint32_t b) const {
  if (a == b) return 0;
  const Geometry &of_a = dictionary().geometries[a], &of_b = dictionary().geometries[b];
  std::uint8_t bits = 0;
  if (of_a.row.dtype != of_b.row.dtype) bits |= kDtypeDiffers;
  if (of_a.row.sizes != of_b.row.sizes) bits |= kShapeDiffers;
  if (of_a.row.strides != of_b.row.strides || of_a.row.layout != of_b.row.layout ||
      of_a.row.storage_offset != of_b.row.storage_offset) {
    bits |= kLayoutDiffers;
  }
  return bits;
}

// A view's value is known where it is one of the op's inputs unchanged (`contiguous` or `to` with
// nothing to do).
bool PairFacts::ValueOf(Side side, std::size_t record, std::uint64_t& value) const {
  const Trace& of_side = trace(side);
  std::size_t from = record;
  if (of_side.tensor_state[record] == TensorState::kView) {
    // The inputs come first in an op's records: go back while they are of the same op.
    bool found = false;
    while (from > 0 && !found && SlotOf(side, from).role != Role::kInput) --from;
    for (std::size_t tries = 0; tries < 4 && !found; ++tries) {
      found = SlotOf(side, from).role == Role::kInput && HasValue(side, from) &&
              of_side.tensor_storage[from] == of_side.tensor_storage[record] &&
              of_side.tensor_geometry[from] == of_side.tensor_geometry[record];
      if (found || from == 0 || SlotOf(side, from - 1).role != Role::kInput) break;
      --from;
    }
    if (!found) return false;
  } else if (!HasValue(side, record)) {
    return false;
  }
  value = of_side.fingerprint[from];
  return true;
}

std::uint8_t PairFacts::Compare(std::size_t record_a, std::size_t record_b) const {
  const Trace &a = pair_.a, &b = pair_.b;
  std::uint8_t bits = CompareGeometry(a.tensor_geometry[record_a], b.tensor_geometry[record_b]);
  const bool view_a = a.tensor_state[record_a] == TensorState::kView;
  const bool view_b = b.tensor_state[record_b] == TensorState::kView;
  if (view_a && view_b) return bits;
  std::uint64_t value_a = 0, value_b = 0;
  if (!ValueOf(Side::kA, record_a, value_a) || !ValueOf(Side::kB, record_b, value_b)) {
    return bits | kNotCompared;
  }
  if (value_a == value_b) return bits;
  bits |= kValueDiffers;
  if (!view_a && !view_b && (bits & kDtypeDiffers) == 0 &&
      a.unordered[record_a] == b.unordered[record_b]) {
    bits |= kOtherOrder;
  }
  return bits;
}

std::int64_t PairFacts::Counterpart(Side side, std::size_t op, std::size_t record) const {
  const std::int64_t match = Match(side, op);
  if (match < 0) return -1;
  const Side other_side = side == Side::kA ? Side::kB : Side::kA;
  const Trace &own = trace(side), &other = trace(other_side);
  const std::uint32_t slot = own.tensor_slot[record];
  const std::uint64_t begin = other.first_tensor[static_cast<std::size_t>(match)];
  const std::uint64_t end = other.first_tensor[static_cast<std::size_t>(match) + 1];
  const std::uint64_t guess = begin + (record - own.first_tensor[op]);
  if (guess < end && other.tensor_slot[guess] == slot) return static_cast<std::int64_t>(guess);
  for (std::uint64_t at = begin; at < end; ++at) {
    if (other.tensor_slot[at] == slot) return static_cast<std::int64_t>(at);
  }
  return -1;
}

std::uint16_t PairFacts::RowBitsOf(const RecordPair& pair, std::size_t op_a,
                                   std::size_t op_b) const {
  const SlotFacts& slot = slots_[pair.slot];
  const OpFacts &facts_a = Facts(Side::kA, op_a), &facts_b = Facts(Side::kB, op_b);
  std::uint16_t bits = 0;
  if (slot.role == Role::kInput) {
    std::uint8_t content = pair.bits & kContentBits;
    if (facts_a.Overwrites(slot.position) && facts_b.Overwrites(slot.position)) {
      if ((content & kValueDiffers) != 0) bits |= kGarbageDiffers;
      content &= static_cast<std::uint8_t>(~kValueDiffers);
    }
    if (content != 0) bits |= kInputDiffers;
    if ((pair.bits & kLayoutDiffers) != 0) bits |= kInputLayoutDiffers;
    return bits;
  }
  std::uint8_t content = pair.bits & kContentBits;
  if (facts_a.makes_garbage && facts_b.makes_garbage) {
    if ((content & kValueDiffers) != 0) bits |= kGarbageDiffers;
    content &= static_cast<std::uint8_t>(~kValueDiffers);
  }
  if (content != 0) bits |= kOutputDiffers;
  if ((pair.bits & kLayoutDiffers) != 0) bits |= kOutputLayoutDiffers;
  const bool is_view =
      pair.a >= 0 && pair.b >= 0 &&
      trace(Side::kA).tensor_state[static_cast<std::size_t>(pair.a)] == TensorState::kView &&
      trace(Side::kB).tensor_state[static_cast<std::size_t>(pair.b)] == TensorState::kView;
  if (is_view) {
    bits |= kOnlyViews;
  } else if ((pair.bits & kNotCompared) == 0) {
    bits |= kHasComparedOutput;
  }
  return bits;
}

std::uint16_t PairFacts::CompareRow(std::size_t op_a, std::size_t op_b) const {
  const Trace &a = pair_.a, &b = pair_.b;
  std::uint16_t bits = 0;
  if (a.arguments[op_a] != b.arguments[op_b]) bits |= kArgumentsDiffer;
  if (a.inside[op_a] != b.inside[op_b]) bits |= kInsideDiffers;
  bool has_written = false;
  ForEachPair(op_a, op_b, [&](const RecordPair& pair) {
    const std::uint16_t of_pair = RowBitsOf(pair, op_a, op_b);
    if (slots_[pair.slot].role != Role::kInput && (of_pair & kOnlyViews) == 0) has_written = true;
    bits |= of_pair;
  });
  if (has_written) bits &= static_cast<std::uint16_t>(~kOnlyViews);
  return bits;
}

}  // namespace opguard::analysis
