// Differences between two texts of a trace: an op's arguments, the calls inside it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opguard/analysis/first_diff.h"

namespace opguard::analysis {

std::vector<std::string> SplitLines(std::string_view text);

// `name=value` lines; an argument that a side does not have is empty there.
std::vector<ArgumentDifference> CompareArguments(std::string_view a, std::string_view b);

struct InsideDifference {
  std::int32_t line = -1;  // first line that differs, -1 if none does
  bool is_other_call = false;
  std::vector<ArgumentDifference> arguments;  // of the same call
};
// Lines of calls, `name.overload(name=value, ...)`.
InsideDifference CompareInside(const std::vector<std::string>& a,
                               const std::vector<std::string>& b);

}  // namespace opguard::analysis
