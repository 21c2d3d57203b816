#include "layout.h"

#include <optional>

namespace opguard::analysis {
namespace {

std::size_t Index(std::int64_t value) { return static_cast<std::size_t>(value); }

std::optional<Cause> MakerOf(const Explainer& explainer, Side side, std::int64_t record,
                             std::size_t op) {
  const StorageIndex& index = explainer.index(side);
  const std::int64_t view = index.Creator(Index(record), op);
  if (view >= 0) return Cause{side, Index(view), index.OpOf(Index(view))};
  const auto writers = index.Writers(Index(record), op);
  if (writers.empty()) return std::nullopt;
  return Cause{side, writers.front(), index.OpOf(writers.front())};
}

// The first input of the row whose layout differs.
std::optional<RecordPair> OtherInput(const PairFacts& facts, std::size_t op_a, std::size_t op_b) {
  std::optional<RecordPair> found;
  facts.ForEachPair(op_a, op_b, [&](const RecordPair& pair) {
    if (found || facts.Slot(pair.slot).role != Role::kInput || pair.a < 0 || pair.b < 0) return;
    if ((pair.bits & kLayoutDiffers) != 0) found = pair;
  });
  return found;
}

}  // namespace

LayoutOrigin FindLayoutOrigin(const PairFacts& facts, const Explainer& explainer, std::size_t op_a,
                              std::size_t op_b, const RecordPair& pair) {
  RecordPair at = pair;
  LayoutOrigin origin;
  constexpr int kMaxSteps = 256;
  for (int step = 0; step < kMaxSteps; ++step) {
    const auto a = MakerOf(explainer, Side::kA, at.a, op_a);
    const auto b = MakerOf(explainer, Side::kB, at.b, op_b);
    if (!a && !b) return origin;
    const bool alone_a = a && facts.Match(Side::kA, a->op) < 0;
    const bool alone_b = b && facts.Match(Side::kB, b->op) < 0;
    if (alone_a || alone_b) {
      return alone_a ? LayoutOrigin{static_cast<std::int64_t>(a->op), -1, true}
                     : LayoutOrigin{-1, static_cast<std::int64_t>(b->op), true};
    }
    const auto maker_a = static_cast<std::int64_t>(a ? a->op : Index(facts.Match(Side::kB, b->op)));
    const std::int64_t maker_b = facts.Match(Side::kA, Index(maker_a));
    origin = {maker_a, maker_b, true};
    const auto next = OtherInput(facts, Index(maker_a), Index(maker_b));
    if (!next || Index(maker_a) >= op_a || Index(maker_b) >= op_b) return origin;
    at = *next;
    op_a = Index(maker_a);
    op_b = Index(maker_b);
  }
  return origin;
}

}  // namespace opguard::analysis
