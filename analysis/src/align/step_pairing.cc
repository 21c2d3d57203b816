#include "step_pairing.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace opguard::analysis {
namespace {

// Number of a step's first ops, and of its first forward ops, that are looked at for its data and
// for its weights.
constexpr std::size_t kDataOps = 8, kDataForwardOps = 4, kFirstOps = 48;
constexpr std::size_t kBuckets = 64;

struct StepInfo {
  OpRange range;
  std::uint32_t step;
  std::array<std::uint32_t, kBuckets> operators{};  // counts by hash
  // Sorted values that no other step of the side has.
  std::vector<std::uint64_t> data, weights;
};

void SortUnique(std::vector<std::uint64_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

StepInfo Describe(const SideKeys& keys, const std::vector<bool>& weight_storages, OpRange range) {
  const Trace& trace = keys.trace();
  StepInfo info{range, trace.step[range.begin], {}, {}, {}};
  std::size_t forward_ops = 0;
  for (std::size_t op = range.begin; op < range.end; ++op) {
    ++info.operators[keys.Key(KeyLevel::kOperator, op) % kBuckets];
    const std::size_t offset = op - range.begin;
    if (trace.phase[op] == Phase::kForward) ++forward_ops;
    const std::size_t forward = trace.phase[op] == Phase::kForward ? forward_ops : kFirstOps + 1;
    if (offset < kDataOps || forward <= kDataForwardOps) {
      keys.AppendValues(op, weight_storages, info.weights, info.data);
    } else if (offset < kFirstOps || forward <= kFirstOps) {
      keys.AppendValues(op, weight_storages, info.weights, info.weights);
    }
  }
  SortUnique(info.data);
  SortUnique(info.weights);
  return info;
}

// Constants that every step meets (masks, positions) tell nothing about which step it is.
void KeepValuesOfOneStep(std::vector<StepInfo>& steps,
                         std::vector<std::uint64_t> StepInfo::*values) {
  std::vector<std::uint64_t> all;
  for (StepInfo& step : steps) {
    all.insert(all.end(), (step.*values).begin(), (step.*values).end());
  }
  std::sort(all.begin(), all.end());
  for (StepInfo& step : steps) {
    std::erase_if(step.*values, [&](std::uint64_t value) {
      const auto [first, last] = std::equal_range(all.begin(), all.end(), value);
      return last - first > 1;
    });
  }
}

std::vector<StepInfo> DescribeSteps(const SideKeys& keys) {
  const std::vector<std::uint32_t>& step = keys.trace().step;
  const std::vector<bool> weight_storages = keys.WeightStorages();
  std::vector<StepInfo> steps;
  for (std::size_t begin = 0; begin < step.size();) {
    std::size_t end = begin + 1;
    while (end < step.size() && step[end] == step[begin]) ++end;
    steps.push_back(Describe(keys, weight_storages, {begin, end}));
    begin = end;
  }
  KeepValuesOfOneStep(steps, &StepInfo::data);
  KeepValuesOfOneStep(steps, &StepInfo::weights);
  return steps;
}

std::int64_t SharedValues(const std::vector<std::uint64_t>& a,
                          const std::vector<std::uint64_t>& b) {
  std::int64_t shared = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      ++shared, ++i, ++j;
    } else {
      ++(a[i] < b[j] ? i : j);
    }
  }
  return shared;
}

std::int64_t Likeness(const StepInfo& a, const StepInfo& b) {
  // Data outweigh weights: a warm-up begins with the other side's weights, but on its own data.
  constexpr std::int64_t kEnoughData = 2, kByData = 300, kEnoughWeights = 4, kByWeight = 50,
                         kByOperators = 200;
  std::int64_t apart = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    apart += std::abs(static_cast<std::int64_t>(a.operators[i]) -
                      static_cast<std::int64_t>(b.operators[i]));
  }
  const auto total = static_cast<std::int64_t>(a.range.size() + b.range.size());
  return 1 + (a.step == b.step ? 1 : 0) + kByOperators * (total - apart) / total +
         kByData * std::min(SharedValues(a.data, b.data), kEnoughData) +
         kByWeight * std::min(SharedValues(a.weights, b.weights), kEnoughWeights);
}

// Best monotone pairing within a band around the diagonal.
std::vector<std::pair<std::size_t, std::size_t>> Pair(const std::vector<StepInfo>& a,
                                                      const std::vector<StepInfo>& b) {
  constexpr std::size_t kSlack = 16;
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min() / 2;
  const std::size_t n = a.size(), m = b.size();
  const std::size_t below = (n > m ? n - m : 0) + kSlack, above = (m > n ? m - n : 0) + kSlack;
  const std::size_t width = below + above + 1;
  // Cell (i, k) is column j = i + k - below.
  const auto in_band = [&](std::size_t i, std::size_t k) {
    return k < width && i + k >= below && i + k - below <= m;
  };
  std::vector<std::int64_t> best((n + 1) * width, kNever);
  std::vector<char> step((n + 1) * width, 'a');
  for (std::size_t i = 0; i <= n; ++i) {
    for (std::size_t k = 0; k < width; ++k) {
      if (!in_band(i, k)) continue;
      const std::size_t j = i + k - below, cell = i * width + k;
      best[cell] = i == 0 ? 0 : kNever;
      step[cell] = i == 0 ? 'b' : 'a';
      if (i > 0 && in_band(i - 1, k + 1)) best[cell] = best[cell - width + 1];
      if (i > 0 && j > 0 && in_band(i - 1, k)) {
        const std::int64_t paired = best[cell - width] + Likeness(a[i - 1], b[j - 1]);
        if (paired > best[cell]) {
          best[cell] = paired;
          step[cell] = 'p';
        }
      }
      // Of equal pairings the one with the earlier steps of the longer side.
      if (j > 0 && k > 0 && in_band(i, k - 1) && best[cell - 1] >= best[cell]) {
        best[cell] = best[cell - 1];
        step[cell] = 'b';
      }
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = n, j = m; i > 0 && j > 0;) {
    const char last = step[i * width + (j + below - i)];
    if (last == 'p') pairs.emplace_back(i - 1, j - 1);
    if (last != 'b') --i;
    if (last != 'a') --j;
  }
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

bool IsWithoutSteps(const std::vector<StepInfo>& one, const std::vector<StepInfo>& other) {
  if (one.size() != 1 || other.size() < 2) return false;
  std::size_t largest = 0;
  for (const StepInfo& step : other) largest = std::max(largest, step.range.size());
  return one[0].range.size() > largest + largest / 2;
}

}  // namespace

std::vector<StepPair> PairSteps(const SideKeys& a, const SideKeys& b) {
  if (a.trace().ops() == 0 || b.trace().ops() == 0) return {};
  const std::vector<StepInfo> steps_a = DescribeSteps(a), steps_b = DescribeSteps(b);
  if (IsWithoutSteps(steps_a, steps_b) || IsWithoutSteps(steps_b, steps_a)) {
    return {{{0, a.trace().ops()}, {0, b.trace().ops()}}};
  }
  std::vector<StepPair> pairs;
  for (const auto& [i, j] : Pair(steps_a, steps_b)) {
    pairs.push_back({steps_a[i].range, steps_b[j].range});
  }
  return pairs;
}

}  // namespace opguard::analysis
