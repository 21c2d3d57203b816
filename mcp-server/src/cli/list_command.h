// `opguard-mcp list`: the pairs in the store, newest first.
#pragma once

#include "tools/workspace.h"

namespace opguard::cli {

// One line a pair on standard output. The exit status.
int ListCommand(tools::Workspace& workspace);

}  // namespace opguard::cli
