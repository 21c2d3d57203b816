// Values that outlive the trace: what unmatched ops left in memory that both sides use.
#pragma once

#include <vector>

#include "explain.h"

namespace opguard::analysis {

// The unmatched ops whose value is the last one of a storage that a matched row uses on both sides
// (a parameter, a buffer), where the sides' last values differ. What a side did after the last
// common step is left out: one run may just be longer.
std::vector<Cause> DifferingFinalValues(const PairFacts& facts, const Explainer& explainer);

}  // namespace opguard::analysis
