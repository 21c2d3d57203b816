// Splits a command string into an argument vector by the POSIX shell's quoting rules, without
// expansion and without a shell.
#pragma once

#include <string>
#include <vector>

#include "opguard/store/result.h"

namespace opguard::tools {

// kInvalidArgument for an open quote, a trailing backslash, an empty command, or an unquoted shell
// operator (| & ; < > ( ) or a line break), whose fix says `sh -c '...'`.
[[nodiscard]] Result<std::vector<std::string>> SplitCommand(const std::string& command);

}  // namespace opguard::tools
