#include "cli/exit_status.h"

namespace opguard::cli {

int ExitStatus(const std::string& tool, const mcp::ToolResult& result) {
  if (result.is_error) return kExitError;
  const std::string status = result.structured.value("status", "");
  if (tool == "first_diff") return status == "identical" ? 0 : status == "diverged" ? 1 : 2;
  if (tool == "run_pair") return status == "complete" ? 0 : status == "failed" ? kExitError : 2;
  return 0;
}

}  // namespace opguard::cli
