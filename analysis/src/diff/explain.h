// Why an input differs between the two sides of a row: who made it different.
#pragma once

#include <vector>

#include "compare.h"
#include "storage_index.h"

namespace opguard::analysis {

enum class Why : std::uint8_t {
  kDifferingOp,    // an op that made it differs itself
  kUnmatchedOp,    // an op that made it has no counterpart
  kOtherView,      // it looks at another part of equal memory
  kGarbage,        // its memory was allocated and not written since
  kFilledUnseen,   // loaded data: nothing recorded wrote it, or only since its allocation
  kChangedUnseen,  // its last recorded writers agree: something unrecorded wrote it since
  kOtherProducer,  // the sides read what different, equal ops made
  kOneSided,       // only one side has this argument
};

// An op that made an input different.
struct Cause {
  Side side;
  std::size_t record;  // what it made
  std::size_t op;
};

struct Explanation {
  Why why = Why::kFilledUnseen;
  std::vector<Cause> causes;   // of the first three
  std::vector<Cause> writers;  // equal ones, where those are all there is
  // Whether a side's own record shows the change: what it read is not what was left there.
  bool is_proven = false;
};

class Explainer {
 public:
  explicit Explainer(const PairFacts& facts)
      : facts_(facts), index_a_(facts, Side::kA), index_b_(facts, Side::kB) {}

  const StorageIndex& index(Side side) const { return side == Side::kA ? index_a_ : index_b_; }
  // Of an input that differs, or whose layout does.
  Explanation Explain(std::size_t op_a, std::size_t op_b, const RecordPair& pair) const;
  // Whether a record of a matched op, not garbage, differs from its counterpart.
  bool DiffersItself(const Cause& cause) const;

 private:
  struct Origins {
    std::vector<Cause> differing, unmatched, equal;
    bool has_garbage = false, is_filled = false;
  };
  void Gather(Side side, std::int64_t record, std::size_t op, Origins& origins) const;
  std::vector<Cause> OtherViews(std::size_t op_a, std::size_t op_b, const RecordPair& pair) const;
  Explanation WithoutCause(std::size_t op_a, std::size_t op_b, const RecordPair& pair,
                           const Origins& a, const Origins& b) const;
  bool HoldsAnother(const Cause& writer, std::int64_t record) const;
  bool ChangedSinceRead(Side side, std::size_t op, std::int64_t record, bool& was_read) const;

  const PairFacts& facts_;
  StorageIndex index_a_, index_b_;
};

}  // namespace opguard::analysis
