// What the tests of FindFirstDiff share.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "analysis/testing/pair_files.h"
#include "opguard/analysis/first_diff.h"

namespace opguard::analysis {

using testing::Tensor;
using testing::TraceBuilder;

struct Judged {
  std::unique_ptr<TracePair> pair;
  Alignment alignment;
  FirstDiff diff;

  RowState StateAt(std::uint64_t row) const { return alignment.At(row).state; }
  bool HasPassedOver(Verdict kind) const {
    return std::any_of(diff.passed_over.begin(), diff.passed_over.end(),
                       [&](const PassedOver& passed) { return passed.kind == kind; });
  }
};

inline Judged JudgeLoaded(std::unique_ptr<TracePair> pair, const FirstDiffOptions& options = {}) {
  Judged judged;
  judged.pair = std::move(pair);
  judged.alignment = Align(*judged.pair);
  judged.diff = FindFirstDiff(*judged.pair, judged.alignment, options);
  return judged;
}

inline Judged JudgePair(const TraceBuilder& a, const TraceBuilder& b,
                        const FirstDiffOptions& options = {}) {
  return JudgeLoaded(testing::MakePair(a, b), options);
}

// Judges A against B, checks that B against A has the same verdict, and returns the former.
inline Judged JudgeBothWays(const TraceBuilder& a, const TraceBuilder& b) {
  const Judged swapped = JudgePair(b, a);
  Judged judged = JudgePair(a, b);
  CHECK(swapped.diff.status == judged.diff.status);
  CHECK(VerdictName(swapped.diff.verdict) == VerdictName(judged.diff.verdict));
  CHECK(swapped.diff.op.name == judged.diff.op.name);
  CHECK(swapped.diff.missing_total == judged.diff.extra_total);
  CHECK(swapped.diff.extra_total == judged.diff.missing_total);
  CHECK(swapped.diff.inputs_equal == judged.diff.inputs_equal);
  CHECK(swapped.diff.equal_before.ops == judged.diff.equal_before.ops);
  CHECK(swapped.diff.coverage.compared == judged.diff.coverage.compared);
  return judged;
}

inline void CheckDiverged(const Judged& judged, Verdict verdict, const std::string& op) {
  INFO(judged.diff.reason);
  CHECK(StatusName(judged.diff.status) == StatusName(Status::kDiverged));
  CHECK(VerdictName(judged.diff.verdict) == VerdictName(verdict));
  CHECK(judged.diff.op.name == op);
}

inline void CheckIdentical(const Judged& judged) {
  INFO(VerdictName(judged.diff.verdict), " ", judged.diff.op.name, " ", judged.diff.reason);
  CHECK(StatusName(judged.diff.status) == StatusName(Status::kIdentical));
  CHECK(judged.diff.coverage.full);
  CHECK(judged.diff.coverage.compared == judged.diff.coverage.tensors);
}

}  // namespace opguard::analysis
