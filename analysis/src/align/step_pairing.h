// Which optimizer step of one side corresponds to which of the other.
#pragma once

#include <cstddef>
#include <vector>

#include "op_keys.h"

namespace opguard::analysis {

struct OpRange {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};
struct StepPair {
  OpRange a, b;
};

// Pairs steps in order. Values that steps begin with (data, weights) decide which steps are extra,
// then the mix of operators, then the step's number. Steps without a partner are left out. When a
// side has no steps (one, as long as several of the other), both sides are taken as one step.
std::vector<StepPair> PairSteps(const SideKeys& a, const SideKeys& b);

}  // namespace opguard::analysis
