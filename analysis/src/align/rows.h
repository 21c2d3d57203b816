// From match vectors to aligned rows.
#pragma once

#include <vector>

#include "opguard/analysis/alignment.h"

namespace opguard::analysis {

// Fills `runs` and `rows` from the match vectors. `is_moved_b`: B ops whose match is not where its
// neighbours are; they do not say where B's other ops belong.
void BuildRuns(const TracePair& pair, const std::vector<bool>& is_moved_b, Alignment& alignment);

}  // namespace opguard::analysis
