// The arguments of run_pair as a specification of the two sides.
#pragma once

#include "protocol/service.h"
#include "runner/run_pair.h"
#include "tools/workspace.h"

namespace opguard::tools {

// kInvalidArgument when the kind of pair is not clear (no command, command and command_a, ...),
// kOutsideRoots for a workdir outside the allowed roots.
[[nodiscard]] Result<runner::PairSpec> ParseRunPair(const Workspace& workspace,
                                                    const mcp::Json& arguments);

}  // namespace opguard::tools
