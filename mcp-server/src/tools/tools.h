// The tools, one function each: checked arguments in, answer or error out.
#pragma once

#include "opguard/store/result.h"
#include "protocol/service.h"
#include "tools/workspace.h"

namespace opguard::tools {

using mcp::Json;

[[nodiscard]] Result<Json> RunPair(Workspace& workspace, const Json& arguments,
                                   mcp::CallContext& context);
[[nodiscard]] Result<Json> FirstDiff(Workspace& workspace, const Json& arguments);
[[nodiscard]] Result<Json> TensorCompare(Workspace& workspace, const Json& arguments);
[[nodiscard]] Result<Json> CallStack(Workspace& workspace, const Json& arguments);
[[nodiscard]] Result<Json> SourceAt(Workspace& workspace, const Json& arguments);

}  // namespace opguard::tools
