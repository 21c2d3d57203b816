#include "explain.h"

#include <utility>

namespace opguard::analysis {
namespace {

std::size_t Index(std::int64_t value) { return static_cast<std::size_t>(value); }

void Append(const std::vector<Cause>& from, std::vector<Cause>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

bool Explainer::DiffersItself(const Cause& cause) const {
  const std::int64_t other = facts_.Counterpart(cause.side, cause.op, cause.record);
  if (other < 0) return true;
  const bool is_a = cause.side == Side::kA;
  std::uint8_t bits = is_a ? facts_.Compare(cause.record, Index(other))
                           : facts_.Compare(Index(other), cause.record);
  if (facts_.Facts(cause.side, cause.op).makes_garbage) {
    bits &= static_cast<std::uint8_t>(~kValueDiffers);
  }
  return (bits & kContentBits) != 0;
}

void Explainer::Gather(Side side, std::int64_t record, std::size_t op, Origins& origins) const {
  if (record < 0) return;
  for (const std::size_t writer : index(side).Writers(Index(record), op)) {
    const Cause cause{side, writer, index(side).OpOf(writer)};
    const bool is_matched = facts_.Match(side, cause.op) >= 0;
    if (facts_.Facts(side, cause.op).makes_garbage && !(is_matched && DiffersItself(cause))) {
      origins.has_garbage = true;
      origins.is_filled |= HoldsAnother(cause, record);
    } else if (!is_matched) {
      origins.unmatched.push_back(cause);
    } else if (DiffersItself(cause)) {
      origins.differing.push_back(cause);
    } else {
      origins.equal.push_back(cause);
    }
  }
}

// Whether what is read now is certainly not what the writer left in the same place.
bool Explainer::HoldsAnother(const Cause& writer, std::int64_t record) const {
  const Trace& trace = facts_.trace(writer.side);
  if (!facts_.HasValue(writer.side, writer.record) || !facts_.HasValue(writer.side, Index(record)))
    return false;
  const auto& geometries = facts_.dictionary().geometries;
  const Geometry& left = geometries[trace.tensor_geometry[writer.record]];
  const Geometry& read = geometries[trace.tensor_geometry[Index(record)]];
  return left.row.dtype == read.row.dtype && left.row.sizes == read.row.sizes &&
         left.row.strides == read.row.strides &&
         left.row.storage_offset == read.row.storage_offset &&
         trace.fingerprint[writer.record] != trace.fingerprint[Index(record)];
}

// Views through which the sides look at different places. Empty where both look alike.
std::vector<Cause> Explainer::OtherViews(std::size_t op_a, std::size_t op_b,
                                         const RecordPair& pair) const {
  std::vector<Cause> views;
  if (pair.a < 0 || pair.b < 0) return views;
  if ((pair.bits & (kLayoutDiffers | kShapeDiffers | kDtypeDiffers)) == 0) return views;
  for (const Side side : {Side::kA, Side::kB}) {
    const std::int64_t record = side == Side::kA ? pair.a : pair.b;
    const std::size_t op = side == Side::kA ? op_a : op_b;
    const std::int64_t view = index(side).Creator(Index(record), op);
    if (view < 0) continue;
    const Cause cause{side, Index(view), index(side).OpOf(Index(view))};
    const std::int64_t other = facts_.Counterpart(side, cause.op, cause.record);
    const bool is_alike =
        other >= 0 && (side == Side::kA ? facts_.Compare(cause.record, Index(other))
                                        : facts_.Compare(Index(other), cause.record)) == 0;
    if (!is_alike) views.push_back(cause);
  }
  return views;
}

bool Explainer::ChangedSinceRead(Side side, std::size_t op, std::int64_t record,
                                 bool& was_read) const {
  const std::int64_t earlier = index(side).EarlierRead(Index(record), op);
  if (earlier < 0) return false;
  was_read = true;
  const Trace& trace = facts_.trace(side);
  return trace.fingerprint[Index(earlier)] != trace.fingerprint[Index(record)];
}

Explanation Explainer::WithoutCause(std::size_t op_a, std::size_t op_b, const RecordPair& pair,
                                    const Origins& a, const Origins& b) const {
  Explanation explanation;
  Append(a.equal, explanation.writers);
  Append(b.equal, explanation.writers);
  if (pair.a < 0 || pair.b < 0) {
    explanation.why = Why::kOneSided;
  } else if (!a.equal.empty() && !b.equal.empty()) {
    const Cause &latest_a = a.equal.front(), &latest_b = b.equal.front();
    const bool is_same = facts_.Counterpart(Side::kA, latest_a.op, latest_a.record) ==
                         static_cast<std::int64_t>(latest_b.record);
    const bool has_garbage = a.has_garbage || b.has_garbage;
    explanation.why = !is_same      ? Why::kOtherProducer
                      : has_garbage ? Why::kGarbage
                                    : Why::kChangedUnseen;
    explanation.is_proven =
        is_same && (HoldsAnother(latest_a, pair.a) || HoldsAnother(latest_b, pair.b));
  } else if (a.has_garbage || b.has_garbage) {
    explanation.why = a.is_filled || b.is_filled ? Why::kFilledUnseen : Why::kGarbage;
    explanation.is_proven = a.is_filled || b.is_filled;
  } else if (!a.equal.empty() || !b.equal.empty()) {
    explanation.why = Why::kOtherProducer;
  } else {
    bool read_a = false, read_b = false;
    const bool changed_a = ChangedSinceRead(Side::kA, op_a, pair.a, read_a);
    const bool changed_b = ChangedSinceRead(Side::kB, op_b, pair.b, read_b);
    const bool is_one_sided_change = read_a && read_b && changed_a != changed_b;
    explanation.why = is_one_sided_change ? Why::kChangedUnseen : Why::kFilledUnseen;
    explanation.is_proven = is_one_sided_change;
  }
  return explanation;
}

Explanation Explainer::Explain(std::size_t op_a, std::size_t op_b, const RecordPair& pair) const {
  Origins a, b;
  Gather(Side::kA, pair.a, op_a, a);
  Gather(Side::kB, pair.b, op_b, b);
  Explanation explanation;
  if (!a.differing.empty() || !b.differing.empty()) {
    explanation.why = Why::kDifferingOp;
  } else if (!a.unmatched.empty() || !b.unmatched.empty()) {
    explanation.why = Why::kUnmatchedOp;
  } else {
    explanation.causes = OtherViews(op_a, op_b, pair);
    if (explanation.causes.empty()) return WithoutCause(op_a, op_b, pair, a, b);
    explanation.why = Why::kOtherView;
    return explanation;
  }
  for (const Origins* origins : {&a, &b}) {
    Append(origins->differing, explanation.causes);
    Append(origins->unmatched, explanation.causes);
  }
  return explanation;
}

}  // namespace opguard::analysis
