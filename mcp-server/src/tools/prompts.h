// Prompts that a person can start from a client's menu; their texts are prompts/*.md.
#pragma once

#include <vector>

#include "protocol/service.h"

namespace opguard::tools {

std::vector<mcp::Prompt> Prompts();

}  // namespace opguard::tools
