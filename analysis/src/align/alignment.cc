#include "opguard/analysis/alignment.h"

#include <algorithm>

namespace opguard::analysis {
namespace {

std::int64_t BeginOf(const AlignedRun& run, Side side) { return side == Side::kA ? run.a : run.b; }

bool Holds(const AlignedRun& run, Side side, std::int64_t op) {
  const std::int64_t begin = BeginOf(run, side);
  return begin >= 0 && op >= begin && op - begin < static_cast<std::int64_t>(run.count);
}

}  // namespace

Alignment::Row Alignment::At(std::uint64_t index) const {
  const auto after = std::upper_bound(
      runs.begin(), runs.end(), index,
      [](std::uint64_t wanted, const AlignedRun& run) { return wanted < run.index; });
  const AlignedRun& run = *(after - 1);
  const auto offset = static_cast<std::int64_t>(index - run.index);
  return {run.a < 0 ? -1 : run.a + offset, run.b < 0 ? -1 : run.b + offset, run.state};
}

std::int64_t Alignment::IndexOf(Side side, std::int64_t op) const {
  std::vector<std::uint32_t>& order = runs_of_side[static_cast<std::size_t>(side)];
  const auto find = [&]() -> std::int64_t {
    const auto after = std::upper_bound(
        order.begin(), order.end(), op, [&](std::int64_t wanted, std::uint32_t run) {
          return run >= runs.size() || wanted < BeginOf(runs[run], side);
        });
    if (after == order.begin() || *(after - 1) >= runs.size()) return -1;
    const AlignedRun& run = runs[*(after - 1)];
    if (!Holds(run, side, op)) return -1;
    return static_cast<std::int64_t>(run.index) + (op - BeginOf(run, side));
  };
  // The order goes stale when runs are split; an answer that its run confirms is right anyway.
  const std::int64_t found = find();
  if (found >= 0 || op < 0) return found;
  order.clear();
  for (std::uint32_t run = 0; run < runs.size(); ++run) {
    if (BeginOf(runs[run], side) >= 0) order.push_back(run);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t x, std::uint32_t y) {
    return BeginOf(runs[x], side) < BeginOf(runs[y], side);
  });
  return find();
}

void RestoreMatches(Alignment& alignment) {
  std::size_t ops_a = 0, ops_b = 0;
  for (const AlignedRun& run : alignment.runs) {
    if (run.a >= 0) ops_a += run.count;
    if (run.b >= 0) ops_b += run.count;
  }
  alignment.match_a.assign(ops_a, -1);
  alignment.match_b.assign(ops_b, -1);
  for (const AlignedRun& run : alignment.runs) {
    if (run.a < 0 || run.b < 0) continue;
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const std::uint64_t a = static_cast<std::uint64_t>(run.a) + i;
      const std::uint64_t b = static_cast<std::uint64_t>(run.b) + i;
      if (a >= ops_a || b >= ops_b) continue;  // runs read from a damaged file
      alignment.match_a[a] = static_cast<std::int64_t>(b);
      alignment.match_b[b] = static_cast<std::int64_t>(a);
    }
  }
}

}  // namespace opguard::analysis
