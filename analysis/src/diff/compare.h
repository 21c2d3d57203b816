// Comparison of one aligned row, from its two ops alone: what it consumed and what it gave.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "op_facts.h"
#include "opguard/analysis/alignment.h"
#include "opguard/analysis/trace.h"

namespace opguard::analysis {

// What differs between the two records of one slot; a set of bits.
enum RecordBit : std::uint8_t {
  kValueDiffers = 1,
  kDtypeDiffers = 2,
  kShapeDiffers = 4,
  kLayoutDiffers = 8,  // strides, storage offset or layout
  kOneSided = 16,      // the other op has no record at this slot
  kNotCompared = 32,   // no fingerprint on a side
  kOtherOrder = 64,    // with kValueDiffers: the same elements in another order
};
// The bits that make a record a difference; layout alone does not.
constexpr std::uint8_t kContentBits = kValueDiffers | kDtypeDiffers | kShapeDiffers | kOneSided;

// What is known of a row; a set of bits.
enum RowBit : std::uint16_t {
  kInputDiffers = 1,
  kInputLayoutDiffers = 2,
  kOutputDiffers = 4,
  kOutputLayoutDiffers = 8,
  kArgumentsDiffer = 16,
  kInsideDiffers = 32,
  kHasComparedOutput = 64,  // an output or written argument was compared by fingerprint
  kOnlyViews = 128,         // it gave tensors, all of them views
  kGarbageDiffers = 256,    // values that mean nothing differ
};

enum class Role : std::uint8_t { kInput, kOutput, kMutated };
struct SlotFacts {
  Role role = Role::kInput;
  std::int32_t position = 0;
};

struct RecordPair {
  std::int64_t a = -1, b = -1;  // indices into the tensor columns
  std::uint32_t slot = 0;
  std::uint8_t bits = 0;
};

// The pair with what its dictionary says, by id. Holds references to both arguments.
class PairFacts {
 public:
  PairFacts(const TracePair& traces, const Alignment& alignment);

  const TracePair& pair() const { return pair_; }
  const Trace& trace(Side side) const { return pair_.side(side); }
  const Dictionary& dictionary() const { return pair_.dictionary; }
  const Alignment& alignment() const { return alignment_; }
  // The op's counterpart, -1 if it has none.
  std::int64_t Match(Side side, std::size_t op) const {
    return (side == Side::kA ? alignment_.match_a : alignment_.match_b)[op];
  }

  const OpFacts& Facts(Side side, std::size_t op) const { return ops_[trace(side).schema[op]]; }
  const SlotFacts& Slot(std::uint32_t slot) const { return slots_[slot]; }
  const SlotFacts& SlotOf(Side side, std::size_t record) const {
    return slots_[trace(side).tensor_slot[record]];
  }
  bool HasValue(Side side, std::size_t record) const;
  // Whether the op reads this input, rather than writing over it unseen.
  bool Reads(Side side, std::size_t op, std::size_t record) const;

  std::uint8_t Compare(std::size_t record_a, std::size_t record_b) const;
  // The record of the same slot in the op's counterpart, -1 if there is none.
  std::int64_t Counterpart(Side side, std::size_t op, std::size_t record) const;
  std::uint16_t CompareRow(std::size_t op_a, std::size_t op_b) const;

  // Calls `visit(RecordPair)` for each slot of a row, in A's order, then those only on B.
  template <typename Visit>
  void ForEachPair(std::size_t op_a, std::size_t op_b, const Visit& visit) const;

 private:
  std::uint8_t CompareGeometry(std::uint32_t a, std::uint32_t b) const;
  bool ValueOf(Side side, std::size_t record, std::uint64_t& value) const;
  std::uint16_t RowBitsOf(const RecordPair& pair, std::size_t op_a, std::size_t op_b) const;

  const TracePair& pair_;
  const Alignment& alignment_;
  std::vector<OpFacts> ops_;      // by schema
  std::vector<SlotFacts> slots_;  // by slot
};

template <typename Visit>
void PairFacts::ForEachPair(std::size_t op_a, std::size_t op_b, const Visit& visit) const {
  const Trace &a = pair_.a, &b = pair_.b;
  std::uint64_t i = a.first_tensor[op_a], j = b.first_tensor[op_b];
  const std::uint64_t end_a = a.first_tensor[op_a + 1], end_b = b.first_tensor[op_b + 1];
  for (; i < end_a && j < end_b && a.tensor_slot[i] == b.tensor_slot[j]; ++i, ++j) {
    visit(RecordPair{static_cast<std::int64_t>(i), static_cast<std::int64_t>(j), a.tensor_slot[i],
                     Compare(i, j)});
  }
  if (i == end_a && j == end_b) return;
  std::unordered_map<std::uint32_t, std::uint64_t> of_b;
  for (; j < end_b; ++j) of_b.emplace(b.tensor_slot[j], j);
  for (; i < end_a; ++i) {
    const auto at = of_b.find(a.tensor_slot[i]);
    RecordPair pair{static_cast<std::int64_t>(i), -1, a.tensor_slot[i], kOneSided};
    if (at != of_b.end()) {
      pair.b = static_cast<std::int64_t>(at->second);
      pair.bits = Compare(i, at->second);
      of_b.erase(at);
    }
    visit(pair);
  }
  for (j = b.first_tensor[op_b]; j < end_b; ++j) {
    const auto at = of_b.find(b.tensor_slot[j]);
    if (at == of_b.end() || at->second != j) continue;
    visit(RecordPair{-1, static_cast<std::int64_t>(j), b.tensor_slot[j], kOneSided});
  }
}

}  // namespace opguard::analysis
