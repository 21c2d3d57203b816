#include "opguard/analysis/first_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "classify.h"
#include "compare.h"
#include "coverage.h"
#include "judge.h"
#include "passed_over.h"
#include "site.h"

namespace opguard::analysis {
namespace {

// Below this share of the smaller side the traces are of different programs.
constexpr double kComparableShare = 0.1;

const char* PhaseNameOf(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kOther:
      break;
  }
  return "other";
}

bool IsInScope(const OpSite& site, const std::string& scope) {
  if (scope.empty() || scope == PhaseNameOf(site.phase) || site.module == scope) return true;
  return site.module.starts_with(scope) && site.module[scope.size()] == '.';
}

std::string Incomparable(const Coverage& coverage) {
  const std::uint64_t smaller = std::min(coverage.ops_a, coverage.ops_b);
  if (smaller == 0) {
    return fmt::format("{} recorded no ops", coverage.ops_a != 0   ? "B"
                                             : coverage.ops_b != 0 ? "A"
                                                                   : "both sides");
  }
  if (static_cast<double>(coverage.aligned) < kComparableShare * static_cast<double>(smaller)) {
    return fmt::format("only {} of {} ops have a counterpart", coverage.aligned, smaller);
  }
  return {};
}

class Finder {
 public:
  Finder(const TracePair& pair, Alignment& alignment, const FirstDiffOptions& options)
      : alignment_(alignment), options_(options), facts_(pair, alignment), judge_(facts_) {}

  FirstDiff Find() {
    diff_.coverage = MeasureCoverage(facts_);
    diff_.warnings = CoverageWarnings(facts_);
    if (const std::string reason = Incomparable(diff_.coverage); !reason.empty()) {
      diff_.status = Status::kIncomparable;
      diff_.reason = reason;
      return std::move(diff_);
    }
    judge_.Run();
    std::uint64_t end = alignment_.rows;
    if (const Candidate* first = First()) {
      diff_.status = Status::kDiverged;
      Classify(judge_, *first, options_.after_index, diff_);
      WarnOfOtherLanes();
      end = diff_.op.index;
    } else {
      diff_.status = StatusWithoutDifference();
    }
    diff_.passed_over = ListPassedOver(judge_, end);
    CountRows(end);
    WriteStates();
    return std::move(diff_);
  }

 private:
  bool IsAsked(const Candidate& candidate) const {
    if (static_cast<std::int64_t>(candidate.row) <= options_.after_index) return false;
    return options_.scope.empty() ||
           IsInScope(MakeSite(facts_, candidate.a, candidate.b), options_.scope);
  }

  const Candidate* First() const {
    const auto& candidates = judge_.candidates();
    const auto first = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const Candidate& candidate) { return IsAsked(candidate); });
    return first == candidates.end() ? nullptr : &*first;
  }

  void WarnOfOtherLanes() {
    std::set<std::string> lanes;
    constexpr std::size_t kLooked = 1000;
    const auto& candidates = judge_.candidates();
    for (std::size_t i = 0; i < std::min(candidates.size(), kLooked); ++i) {
      if (!IsAsked(candidates[i])) continue;
      lanes.insert(MakeSite(facts_, candidates[i].a, candidates[i].b).lane);
    }
    lanes.erase(diff_.op.lane);
    for (const std::string& lane : lanes) {
      diff_.warnings.push_back(fmt::format(
          "lane {} has differences of its own; the order between lanes is that of A", lane));
    }
  }

  Status StatusWithoutDifference() {
    const Trace &a = facts_.pair().a, &b = facts_.pair().b;
    if (!judge_.candidates().empty()) {
      diff_.warnings.push_back(
          fmt::format("{} differences lie outside what was asked (after_index, scope)",
                      judge_.candidates().size()));
      return Status::kNoDifferenceInCoverage;
    }
    if (!a.facts.complete() || !b.facts.complete()) return Status::kIncomplete;
    return diff_.coverage.full ? Status::kIdentical : Status::kNoDifferenceInCoverage;
  }

  void CountEqual(std::size_t op, std::uint64_t row) {
    const OpFacts& facts = facts_.Facts(Side::kA, op);
    ++diff_.equal_before.ops;
    if (facts.is_matmul) ++diff_.equal_before.matmuls;
    if (facts.is_collective) ++diff_.equal_before.collectives;
    last_equal_row_ = row;
    diff_.has_last_equal = true;
  }

  void CountRows(std::uint64_t end) {
    for (const AlignedRun& run : alignment_.runs) {
      if (run.a < 0 || run.b < 0) continue;
      for (std::uint64_t i = 0; i < run.count; ++i) {
        const std::int64_t a = run.a + static_cast<std::int64_t>(i);
        const std::int64_t b = run.b + static_cast<std::int64_t>(i);
        const RowState state = judge_.StateOf(a, b);
        const bool is_equal = state == RowState::kEqual || state == RowState::kEquivalent;
        if (run.index + i < end && is_equal) {
          CountEqual(static_cast<std::size_t>(a), run.index + i);
        } else if (run.index + i > end && !is_equal && diff_.status == Status::kDiverged) {
          ++diff_.receivers;
        }
      }
    }
    if (!diff_.has_last_equal) return;
    const Alignment::Row last = alignment_.At(last_equal_row_);
    diff_.last_equal = MakeSite(facts_, last.a, last.b);
  }

  // Splits the runs where the state changes.
  void WriteStates() {
    std::vector<AlignedRun> runs;
    for (const AlignedRun& run : alignment_.runs) {
      for (std::uint64_t i = 0; i < run.count; ++i) {
        const auto offset = static_cast<std::int64_t>(i);
        const std::int64_t a = run.a < 0 ? -1 : run.a + offset;
        const std::int64_t b = run.b < 0 ? -1 : run.b + offset;
        const RowState state = judge_.StateOf(a, b);
        if (!runs.empty() && Continues(runs.back(), a, b, state)) {
          ++runs.back().count;
        } else {
          runs.push_back({run.index + i, a, b, 1, state});
        }
      }
    }
    alignment_.runs = std::move(runs);
    for (auto& order : alignment_.runs_of_side) order.clear();
  }

  static bool Continues(const AlignedRun& run, std::int64_t a, std::int64_t b, RowState state) {
    const auto next = [&](std::int64_t begin, std::int64_t op) {
      return begin < 0 ? op < 0 : op == begin + static_cast<std::int64_t>(run.count);
    };
    return run.state == state && next(run.a, a) && next(run.b, b);
  }

  Alignment& alignment_;
  const FirstDiffOptions& options_;
  PairFacts facts_;
  Judge judge_;
  FirstDiff diff_;
  std::uint64_t last_equal_row_ = 0;
};

}  // namespace

FirstDiff FindFirstDiff(const TracePair& pair, Alignment& alignment,
                        const FirstDiffOptions& options) {
  return Finder(pair, alignment, options).Find();
}

}  // namespace opguard::analysis
