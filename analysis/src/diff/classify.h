// Turns a candidate into a verdict with its evidence.
#pragma once

#include "judge.h"
#include "opguard/analysis/first_diff.h"

namespace opguard::analysis {

// Fills verdict, certainty, reason, hypothesis, op, inputs_equal, differing, arguments, inside*,
// missing and extra of `diff`. `after_index`: rows up to here are not named, even where the reason
// lies there. REQUIRES: diff.coverage is filled.
void Classify(const Judge& judge, const Candidate& candidate, std::int64_t after_index,
              FirstDiff& diff);

// The part of Classify for a row that only one side has.
void ClassifyRegion(const Judge& judge, const Candidate& candidate, FirstDiff& diff);

// Lists `ops` as missing (only on A) or extra (only on B), at most 20 of each.
void ListOneSided(const PairFacts& facts, Side side, const std::vector<std::size_t>& ops,
                  FirstDiff& diff);

}  // namespace opguard::analysis
