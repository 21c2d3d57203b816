// Exit statuses of the subcommands, for scripts and CI jobs.
#pragma once

#include <string>

#include "protocol/service.h"

namespace opguard::cli {

inline constexpr int kExitError = 3;

// first_diff: 0 identical, 1 diverged, 2 could not tell (partial coverage, self-nondeterministic,
// incomplete, incomparable). run_pair: 0 complete, 2 running, cancelled or incomplete, 3 failed.
// Other tools: 0. An error of any tool: 3.
int ExitStatus(const std::string& tool, const mcp::ToolResult& result);

}  // namespace opguard::cli
