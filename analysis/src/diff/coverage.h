// How much of the two traces the answer rests on.
#pragma once

#include "compare.h"
#include "opguard/analysis/first_diff.h"

namespace opguard::analysis {

Coverage MeasureCoverage(const PairFacts& facts);
// Incomplete or disabled traces, gaps, trusted mode, unequal numbers of steps.
std::vector<std::string> CoverageWarnings(const PairFacts& facts);

}  // namespace opguard::analysis
