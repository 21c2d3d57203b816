// A tool's JSON answer as text for a person in a shell.
#pragma once

#include <string>

#include "protocol/service.h"

namespace opguard::render {

// Summary first, then the data, warnings, and the suggested calls as shell commands.
std::string HumanText(const mcp::Json& answer);

}  // namespace opguard::render
