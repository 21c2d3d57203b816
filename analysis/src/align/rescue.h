// Second chance for ops that the monotone alignment left over: moved blocks, swapped neighbours,
// ops that changed their phase.
#pragma once

#include "matches.h"
#include "op_keys.h"

namespace opguard::analysis {

// `a`, `b`: one lane's ops of a pair of steps, all phases. Pairs left-over ops of equal key or
// equal values, in any order, as moved.
void RescueLeftOvers(const SideKeys& keys_a, const SideKeys& keys_b, const OpList& a,
                     const OpList& b, Matches matches);

}  // namespace opguard::analysis
