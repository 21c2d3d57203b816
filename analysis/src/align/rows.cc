#include "rows.h"

#include <algorithm>

namespace opguard::analysis {
namespace {

// A B op without a match, and the A op whose row it follows (-1: before all).
struct OnlyB {
  std::int64_t after, b;
};

std::vector<OnlyB> PlaceOnlyB(const TracePair& pair, const std::vector<bool>& is_moved_b,
                              const std::vector<std::int64_t>& match_b) {
  std::vector<OnlyB> placed;
  std::vector<std::int64_t> last_of_lane(pair.dictionary.lanes.size(), -1);
  std::int64_t last = -1;
  for (std::size_t op = 0; op < match_b.size(); ++op) {
    std::int64_t& last_here = last_of_lane[pair.b.lane[op]];
    if (match_b[op] < 0) {
      placed.push_back({last_here < 0 ? last : last_here, static_cast<std::int64_t>(op)});
    } else if (!is_moved_b[op]) {
      last = last_here = match_b[op];
    }
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const OnlyB& x, const OnlyB& y) { return x.after < y.after; });
  return placed;
}

bool Continues(std::int64_t from, std::uint64_t count, std::int64_t next) {
  if (from < 0) return next < 0;
  return next == from + static_cast<std::int64_t>(count);
}

void AddRow(Alignment& alignment, std::int64_t a, std::int64_t b) {
  const RowState state = a < 0 ? RowState::kOnlyB : b < 0 ? RowState::kOnlyA : RowState::kEqual;
  const std::uint64_t index = alignment.rows++;
  if (!alignment.runs.empty()) {
    AlignedRun& run = alignment.runs.back();
    if (run.state == state && Continues(run.a, run.count, a) && Continues(run.b, run.count, b)) {
      ++run.count;
      return;
    }
  }
  alignment.runs.push_back({index, a, b, 1, state});
}

}  // namespace

void BuildRuns(const TracePair& pair, const std::vector<bool>& is_moved_b, Alignment& alignment) {
  const std::vector<OnlyB> only_b = PlaceOnlyB(pair, is_moved_b, alignment.match_b);
  alignment.runs.clear();
  alignment.rows = 0;
  auto next = only_b.begin();
  const auto add_only_b_after = [&](std::int64_t a) {
    for (; next != only_b.end() && next->after <= a; ++next) AddRow(alignment, -1, next->b);
  };
  add_only_b_after(-1);
  for (std::size_t op = 0; op < alignment.match_a.size(); ++op) {
    AddRow(alignment, static_cast<std::int64_t>(op), alignment.match_a[op]);
    add_only_b_after(static_cast<std::int64_t>(op));
  }
}

}  // namespace opguard::analysis
