// Finds for every row whether it makes a difference, receives one, or only seems to differ.
//
// A difference counts when it escapes: when its value, on some path, ends in an op whose outputs
// differ. So the rows are walked backwards from their ends, and what differs without escaping (an
// op inside a rewrite that reconverges, a value that nobody reads, garbage) is passed over.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "compare.h"
#include "explain.h"
#include "value_occurrence.h"

namespace opguard::analysis {

// A row that makes a difference.
struct Candidate {
  std::int64_t a = -1, b = -1;  // op indices
  std::uint64_t row = 0;
};

// The first matched row that read what an unmatched op made.
struct Reader {
  std::size_t op_a = 0, op_b = 0;
  RecordPair pair;
};

class Judge {
 public:
  explicit Judge(const PairFacts& facts);

  // Judges every row. REQUIRES: called once.
  void Run();

  const PairFacts& facts() const { return facts_; }
  const Explainer& explainer() const { return *explainer_; }
  bool has_differences() const { return explainer_ != nullptr; }
  std::uint16_t Bits(std::size_t op_a) const { return bits_[op_a]; }
  RowState StateOf(std::int64_t a, std::int64_t b) const;
  // In ascending row order.
  const std::vector<Candidate>& candidates() const { return candidates_; }
  // Whether an unmatched op's values are why a matched row differs.
  bool Escapes(Side side, std::size_t op) const;
  const Reader* ReaderOf(Side side, std::size_t op) const;
  std::uint64_t RowOf(Side side, std::size_t op) const;

 private:
  enum Mark : std::uint8_t { kEscapes = 1, kMakes = 2, kSettled = 4 };

  bool CompareRows();
  void WalkBack();
  void Settle(std::int64_t a, std::int64_t b, std::uint64_t row);
  void SettleMatched(std::size_t op_a, std::size_t op_b);
  void SettleViews(std::size_t op_a, std::size_t op_b);
  void SettleUnmatched(Side side, std::size_t op);
  bool IsEnd(std::size_t op_a, std::size_t op_b) const;
  // Marks the causes of a differing input; false if there are none.
  bool MarkCauses(std::size_t op_a, std::size_t op_b, const RecordPair& pair);
  std::vector<Cause> Relevant(const Explanation& explanation) const;
  void MarkOp(Side side, std::size_t op);
  void MarkFinalValues();
  ValueOccurrence& Occurrence(Side side);
  std::uint8_t& MarksOf(Side side, std::size_t op) {
    return (side == Side::kA ? marks_a_ : marks_b_)[op];
  }
  static std::uint64_t Key(Side side, std::size_t op) {
    return static_cast<std::uint64_t>(op) * 2 + static_cast<std::uint64_t>(side);
  }

  const PairFacts& facts_;
  const Alignment& alignment_;
  std::vector<std::uint16_t> bits_;              // by op of A that has a counterpart
  std::vector<std::uint8_t> marks_a_, marks_b_;  // matched rows are marked at their op of A
  std::unique_ptr<Explainer> explainer_;         // only where something differs
  std::unique_ptr<ValueOccurrence> occurrence_[2];
  std::unordered_map<std::uint64_t, Reader> readers_;
  std::vector<Candidate> candidates_, late_;
  std::uint64_t current_row_ = 0;
};

}  // namespace opguard::analysis
