// tools/call.
#pragma once

#include <tl/expected.hpp>

#include "protocol/rpc.h"
#include "protocol/server.h"

namespace opguard::mcp {

// -32602 for an unknown tool or a malformed request; all other failures, exceptions included, are
// results with isError, so that the agent sees them.
[[nodiscard]] tl::expected<Json, RpcError> CallTool(const Server& server, const Json& params,
                                                    CallContext& context);

}  // namespace opguard::mcp
