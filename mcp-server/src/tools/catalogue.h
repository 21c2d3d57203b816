// The service that opguard-mcp offers: tools, prompts and resources bound to one workspace.
#pragma once

#include "protocol/service.h"
#include "tools/workspace.h"

namespace opguard::tools {

// `workspace` must outlive the service.
mcp::Service MakeService(Workspace& workspace);

// A tool's definition as read from schemas/tools (name, title, description, schemas, annotations).
const std::vector<mcp::Json>& ToolDefinitions();

// Runs a tool by name on raw arguments: checks them, runs it, wraps the answer. The one door for
// both the protocol and the command line.
mcp::ToolResult CallTool(Workspace& workspace, const std::string& name, const mcp::Json& arguments,
                         mcp::CallContext& context);

}  // namespace opguard::tools
