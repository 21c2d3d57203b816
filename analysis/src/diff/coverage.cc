#include "coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace opguard::analysis {
namespace {

std::size_t Index(std::int64_t value) { return static_cast<std::size_t>(value); }

void CountPair(const PairFacts& facts, const RecordPair& pair, Coverage& coverage) {
  ++coverage.tensors;
  if (pair.a < 0 || pair.b < 0) {
    ++coverage.compared;
    return;
  }
  const TensorState a = facts.pair().a.tensor_state[Index(pair.a)];
  const TensorState b = facts.pair().b.tensor_state[Index(pair.b)];
  if (a == TensorState::kTrusted || b == TensorState::kTrusted) {
    ++coverage.trusted;
  } else if ((pair.bits & kNotCompared) != 0) {
    ++coverage.unreadable;
  } else {
    ++coverage.compared;
  }
}

// The numbers of calls left out, the larger of both sides.
void CountSkipped(const PairFacts& facts, Coverage& coverage) {
  std::map<std::string, std::uint64_t> skipped;
  constexpr std::string_view kPrefix = "skipped.";
  for (const Side side : {Side::kA, Side::kB}) {
    for (const store::KeyValue& fact : facts.trace(side).facts.trace) {
      if (!fact.key.starts_with(kPrefix)) continue;
      std::uint64_t count = 0;
      for (const char c : fact.value) {
        if (c < '0' || c > '9') break;
        count = count * 10 + static_cast<std::uint64_t>(c - '0');
      }
      if (count == 0) continue;
      std::uint64_t& total = skipped[fact.key.substr(kPrefix.size())];
      total = std::max(total, count);
    }
  }
  coverage.skipped.assign(skipped.begin(), skipped.end());
}

std::uint32_t LastStep(const Trace& trace) { return trace.step.empty() ? 0 : trace.step.back(); }

}  // namespace

Coverage MeasureCoverage(const PairFacts& facts) {
  Coverage coverage;
  coverage.ops_a = facts.pair().a.ops();
  coverage.ops_b = facts.pair().b.ops();
  for (std::size_t op = 0; op < coverage.ops_a; ++op) {
    const std::int64_t match = facts.Match(Side::kA, op);
    if (match < 0) continue;
    ++coverage.aligned;
    facts.ForEachPair(op, Index(match),
                      [&](const RecordPair& pair) { CountPair(facts, pair, coverage); });
  }
  coverage.unaligned_a = coverage.ops_a - coverage.aligned;
  coverage.unaligned_b = coverage.ops_b - coverage.aligned;
  CountSkipped(facts, coverage);
  const auto is_whole = [&](Side side) {
    const store::TraceFacts& of_side = facts.trace(side).facts;
    return of_side.complete() && of_side.gaps.empty();
  };
  coverage.full = coverage.compared == coverage.tensors && coverage.skipped.empty() &&
                  coverage.unaligned_a == 0 && coverage.unaligned_b == 0 && is_whole(Side::kA) &&
                  is_whole(Side::kB);
  return coverage;
}

std::vector<std::string> CoverageWarnings(const PairFacts& facts) {
  std::vector<std::string> warnings;
  for (const Side side : {Side::kA, Side::kB}) {
    const store::TraceFacts& of_side = facts.trace(side).facts;
    const char* name = side == Side::kA ? "A" : "B";
    const std::string status = of_side.TraceValue("status");
    if (status != "complete") {
      warnings.push_back(fmt::format("the trace of {} is {}: it ends at op {}", name,
                                     status.empty() ? "incomplete" : status, of_side.max_op_id));
    }
    for (const store::GapRow& gap : of_side.gaps) {
      warnings.push_back(fmt::format("{} did not record steps {} to {}: {}", name, gap.first_step,
                                     gap.last_step, gap.reason));
    }
  }
  const std::uint32_t steps_a = LastStep(facts.pair().a), steps_b = LastStep(facts.pair().b);
  if (steps_a != steps_b) {
    warnings.push_back(fmt::format("A recorded {} steps and B {}", steps_a, steps_b));
  }
  return warnings;
}

}  // namespace opguard::analysis
