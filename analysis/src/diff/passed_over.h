// What looked like a difference and is none, listed for the reader of the answer.
#pragma once

#include "judge.h"
#include "opguard/analysis/first_diff.h"

namespace opguard::analysis {

// Findings before the aligned row `end`, in row order; kinds that may occur often are one entry.
std::vector<PassedOver> ListPassedOver(const Judge& judge, std::uint64_t end);

}  // namespace opguard::analysis
