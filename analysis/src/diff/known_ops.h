// Known explanations for an op that gives another result from the same inputs.
#pragma once

#include <string>
#include <string_view>

namespace opguard::analysis {

struct KnownOp {
  std::string_view name;    // of the operator without overload; a trailing '*' stands for any rest
  std::string_view device;  // prefix of the device it holds for, empty: all
  std::string_view argument;  // a line that its arguments must have, empty: any
  std::string_view when;
  std::string_view remedy;
  std::string_view source;
};

// "" if there is none. `arguments`: the op's argument lines.
std::string KnownExplanation(std::string_view name, std::string_view device,
                             std::string_view arguments);

}  // namespace opguard::analysis
