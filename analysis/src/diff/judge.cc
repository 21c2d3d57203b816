#include "judge.h"

#include <algorithm>

#include "final_values.h"

namespace opguard::analysis {
namespace {

std::size_t Index(std::int64_t value) { return static_cast<std::size_t>(value); }

bool IsGivenOutput(const PairFacts& facts, const RecordPair& pair) {
  return facts.Slot(pair.slot).role != Role::kInput;
}

}  // namespace

Judge::Judge(const PairFacts& facts) : facts_(facts), alignment_(facts.alignment()) {}

void Judge::Run() {
  const bool differs = CompareRows();
  const std::size_t ops_a = facts_.pair().a.ops(), ops_b = facts_.pair().b.ops();
  marks_a_.assign(ops_a, 0);
  marks_b_.assign(ops_b, 0);
  if (!differs) return;
  explainer_ = std::make_unique<Explainer>(facts_);
  MarkFinalValues();
  WalkBack();
  std::sort(candidates_.begin(), candidates_.end(),
            [](const Candidate& x, const Candidate& y) { return x.row < y.row; });
}

// Fills bits_; whether there is anything to judge.
bool Judge::CompareRows() {
  bits_.assign(facts_.pair().a.ops(), 0);
  bool differs = false;
  constexpr std::uint16_t kAnyDifference =
      kInputDiffers | kOutputDiffers | kInputLayoutDiffers | kOutputLayoutDiffers;
  for (std::size_t op = 0; op < bits_.size(); ++op) {
    const std::int64_t match = facts_.Match(Side::kA, op);
    if (match < 0) {
      differs = true;
      continue;
    }
    bits_[op] = facts_.CompareRow(op, Index(match));
    differs |= (bits_[op] & kAnyDifference) != 0;
  }
  const auto& match_b = alignment_.match_b;
  return differs || std::find(match_b.begin(), match_b.end(), -1) != match_b.end();
}

void Judge::WalkBack() {
  for (auto run = alignment_.runs.rbegin(); run != alignment_.runs.rend(); ++run) {
    for (std::uint64_t i = run->count; i-- > 0;) {
      const auto offset = static_cast<std::int64_t>(i);
      Settle(run->a < 0 ? -1 : run->a + offset, run->b < 0 ? -1 : run->b + offset, run->index + i);
    }
  }
  // Ops that were moved may be marked by a row before them, after their turn.
  while (!late_.empty()) {
    const Candidate late = late_.back();
    late_.pop_back();
    Settle(late.a, late.b, late.row);
  }
}

void Judge::Settle(std::int64_t a, std::int64_t b, std::uint64_t row) {
  current_row_ = row;
  const Side side = a >= 0 ? Side::kA : Side::kB;
  const std::size_t op = Index(a >= 0 ? a : b);
  MarksOf(side, op) |= kSettled;
  if (a >= 0 && b >= 0) {
    SettleMatched(Index(a), Index(b));
  } else if ((MarksOf(side, op) & kEscapes) != 0) {
    SettleUnmatched(side, op);
  }
  if ((MarksOf(side, op) & kMakes) != 0) candidates_.push_back({a, b, row});
}

// Whether a row differs and nothing later shows whether that matters.
bool Judge::IsEnd(std::size_t op_a, std::size_t op_b) const {
  const std::uint16_t bits = bits_[op_a];
  if ((bits & kOnlyViews) != 0) return false;
  if ((bits & kOutputDiffers) == 0) {
    return (bits & kInputDiffers) != 0 && (bits & kHasComparedOutput) == 0;
  }
  bool is_end = false;
  facts_.ForEachPair(op_a, op_b, [&](const RecordPair& pair) {
    if (is_end || !IsGivenOutput(facts_, pair) || (pair.bits & kContentBits) == 0) return;
    is_end = (pair.a < 0 || !explainer_->index(Side::kA).IsRead(Index(pair.a))) &&
             (pair.b < 0 || !explainer_->index(Side::kB).IsRead(Index(pair.b)));
  });
  return is_end;
}

void Judge::SettleMatched(std::size_t op_a, std::size_t op_b) {
  std::uint8_t& marks = marks_a_[op_a];
  const std::uint16_t bits = bits_[op_a];
  if ((bits & (kInputDiffers | kOutputDiffers)) == 0 && (marks & kEscapes) == 0) return;
  if ((marks & kEscapes) == 0 && !IsEnd(op_a, op_b)) return;
  marks |= kEscapes;
  if ((bits & kOnlyViews) != 0) return SettleViews(op_a, op_b);
  bool is_received = false;
  facts_.ForEachPair(op_a, op_b, [&](const RecordPair& pair) {
    if (IsGivenOutput(facts_, pair) || (pair.bits & kContentBits) == 0) return;
    const bool reads = (pair.a < 0 || facts_.Reads(Side::kA, op_a, Index(pair.a))) &&
                       (pair.b < 0 || facts_.Reads(Side::kB, op_b, Index(pair.b)));
    // An argument that is written over matters by its type and shape alone.
    if (!reads && (pair.bits & (kDtypeDiffers | kShapeDiffers | kOneSided)) == 0) return;
    is_received |= MarkCauses(op_a, op_b, pair);
  });
  if (!is_received) marks |= kMakes;
}

// A view matters by where it looks; the value it looks at is judged at its reader.
void Judge::SettleViews(std::size_t op_a, std::size_t op_b) {
  bool is_received = false;
  facts_.ForEachPair(op_a, op_b, [&](const RecordPair& pair) {
    constexpr std::uint8_t kPlace = kLayoutDiffers | kShapeDiffers | kDtypeDiffers;
    if (IsGivenOutput(facts_, pair) || (pair.bits & kPlace) == 0) return;
    is_received |= MarkCauses(op_a, op_b, pair);
  });
  if (!is_received) marks_a_[op_a] |= kMakes;
}

bool Judge::MarkCauses(std::size_t op_a, std::size_t op_b, const RecordPair& pair) {
  const Explanation explanation = explainer_->Explain(op_a, op_b, pair);
  const std::vector<Cause> causes = Relevant(explanation);
  for (const Cause& cause : causes) {
    if (facts_.Match(cause.side, cause.op) < 0) {
      readers_[Key(cause.side, cause.op)] = {op_a, op_b, pair};
    }
    MarkOp(cause.side, cause.op);
  }
  return !causes.empty();
}

// Where both sides read what unmatched ops made at different times (state that A loaded long ago
// and B made just now), the sides part at the later one.
std::vector<Cause> Judge::Relevant(const Explanation& explanation) const {
  if (explanation.why != Why::kUnmatchedOp) return explanation.causes;
  const auto when = [&](const Cause& cause) {
    const Trace& trace = facts_.trace(cause.side);
    return std::pair(trace.step[cause.op], trace.phase[cause.op]);
  };
  std::uint64_t latest[2] = {0, 0};
  std::pair<std::uint32_t, Phase> at[2];
  for (const Cause& cause : explanation.causes) {
    const auto side = static_cast<std::size_t>(cause.side);
    const std::uint64_t row = RowOf(cause.side, cause.op) + 1;
    if (row > latest[side]) {
      latest[side] = row;
      at[side] = when(cause);
    }
  }
  if (latest[0] == 0 || latest[1] == 0 || at[0] == at[1]) return explanation.causes;
  std::vector<Cause> relevant = explanation.causes;
  const Side earlier = latest[0] < latest[1] ? Side::kA : Side::kB;
  std::erase_if(relevant, [&](const Cause& cause) { return cause.side == earlier; });
  return relevant;
}

void Judge::MarkOp(Side side, std::size_t op) {
  const std::int64_t match = facts_.Match(side, op);
  std::int64_t a = side == Side::kA ? static_cast<std::int64_t>(op) : match;
  std::int64_t b = side == Side::kB ? static_cast<std::int64_t>(op) : match;
  std::uint8_t& marks = a >= 0 ? marks_a_[Index(a)] : marks_b_[Index(b)];
  if ((marks & kEscapes) != 0) return;
  marks |= kEscapes;
  if ((marks & kSettled) != 0) late_.push_back({a, b, RowOf(side, op)});
}

void Judge::SettleUnmatched(Side side, std::size_t op) {
  const Trace& trace = facts_.trace(side);
  const StorageIndex& index = explainer_->index(side);
  bool is_received = false;
  for (std::uint64_t t = trace.first_tensor[op]; t < trace.first_tensor[op + 1]; ++t) {
    if (!facts_.Reads(side, op, t)) continue;
    for (const std::size_t writer : index.Writers(t, op)) {
      const Cause cause{side, writer, index.OpOf(writer)};
      if (facts_.Facts(side, cause.op).makes_garbage) continue;
      const bool is_unmatched = facts_.Match(side, cause.op) < 0;
      const bool differs =
          is_unmatched ? !Occurrence(side).OnOtherSide(writer) : explainer_->DiffersItself(cause);
      if (!differs) continue;
      is_received = true;
      MarkOp(side, cause.op);
    }
  }
  if (!is_received) MarksOf(side, op) |= kMakes;
}

void Judge::MarkFinalValues() {
  for (const Cause& cause : DifferingFinalValues(facts_, *explainer_)) MarkOp(cause.side, cause.op);
}

ValueOccurrence& Judge::Occurrence(Side side) {
  auto& occurrence = occurrence_[static_cast<std::size_t>(side)];
  if (!occurrence) occurrence = std::make_unique<ValueOccurrence>(facts_, side);
  return *occurrence;
}

std::uint64_t Judge::RowOf(Side side, std::size_t op) const {
  const std::int64_t row = alignment_.IndexOf(side, static_cast<std::int64_t>(op));
  return row < 0 ? 0 : static_cast<std::uint64_t>(row);
}

bool Judge::Escapes(Side side, std::size_t op) const {
  const auto& marks = side == Side::kA ? marks_a_ : marks_b_;
  return (marks[op] & kEscapes) != 0;
}

const Reader* Judge::ReaderOf(Side side, std::size_t op) const {
  const auto at = readers_.find(Key(side, op));
  return at == readers_.end() ? nullptr : &at->second;
}

RowState Judge::StateOf(std::int64_t a, std::int64_t b) const {
  if (a < 0 || b < 0) {
    const Side side = a >= 0 ? Side::kA : Side::kB;
    if (!Escapes(side, Index(a >= 0 ? a : b))) return RowState::kEquivalent;
    return a >= 0 ? RowState::kOnlyA : RowState::kOnlyB;
  }
  const std::uint8_t marks = marks_a_[Index(a)];
  if ((marks & kMakes) != 0) return RowState::kDiffers;
  if ((marks & kEscapes) != 0) return RowState::kReceiver;
  constexpr std::uint16_t kHarmless = kInputDiffers | kOutputDiffers | kArgumentsDiffer;
  return (bits_[Index(a)] & kHarmless) != 0 ? RowState::kEquivalent : RowState::kEqual;
}

}  // namespace opguard::analysis
