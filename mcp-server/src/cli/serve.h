// `opguard-mcp --stdio`: the tools as an MCP server on standard input and output.
#pragma once

#include "tools/workspace.h"

namespace opguard::cli {

// Serves until the client is gone or a signal comes; then ends the children of running pairs. The
// exit status of the process. Call it from the main thread before any other thread is started.
int Serve(tools::Workspace& workspace);

}  // namespace opguard::cli
