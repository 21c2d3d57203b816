#include "cli/serve.h"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "cli/exit_status.h"
#include "protocol/server.h"
#include "tools/catalogue.h"
#include "transport/stdio.h"

namespace opguard::cli {

int Serve(tools::Workspace& workspace) {
  mcp::StdioOptions options;
  options.log = [](const std::string& note) { spdlog::info("{}", note); };
  const auto server = std::make_shared<const mcp::Server>(tools::MakeService(workspace));
  const mcp::StdioEnd end = mcp::RunStdio(server, options);
  workspace.runner().Cancel("");
  if (end.cause == mcp::StdioEnd::Cause::kFailed) {
    spdlog::error("cannot serve on standard input and output: {}", std::strerror(end.error));
  }
  const int status = end.cause == mcp::StdioEnd::Cause::kFailed ? kExitError : 0;
  // A call that ignores its cancellation still uses the workspace; supervisors (runner) end what
  // runs once this process is gone.
  if (end.is_abandoned) std::_Exit(status);
  return status;
}

}  // namespace opguard::cli
