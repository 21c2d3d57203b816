#include "protocol/tool_call.h"

#include <exception>
#include <string>
#include <utility>

#include "protocol/json_line.h"
#include "protocol/listings.h"
#include "protocol/method_params.h"

namespace opguard::mcp {
namespace {

ToolResult InternalError(const Tool& tool, const std::string& what) {
  ToolResult result;
  result.is_error = true;
  result.content = {{"text",
                     "internal: " + tool.name + " failed: " + what +
                         ". This is a defect of the server, not of the call. Fix: repeat the call "
                         "once; if it fails again, report it.",
                     {},
                     {}}};
  return result;
}

ToolResult Run(const Tool& tool, const Json& arguments, CallContext& context) {
  try {
    ToolResult result = tool.call(arguments, context);
    // Clients refuse such a result without telling the agent anything.
    if (!result.is_error && tool.output_schema.is_object() && !result.structured.is_object()) {
      return InternalError(tool, "it has no structured content");
    }
    return result;
  } catch (const std::exception& exception) {
    return InternalError(tool, exception.what());
  } catch (...) {
    return InternalError(tool, "an unknown exception");
  }
}

}  // namespace

tl::expected<Json, RpcError> CallTool(const Server& server, const Json& params,
                                      CallContext& context) {
  if (server.service().tools.empty()) return NotOffered("tools");
  const auto name = StringParam(params, "name");
  if (!name) return tl::unexpected(name.error());
  const auto arguments = ObjectParam(params, "arguments");
  if (!arguments) return arguments;
  const Tool* tool = server.FindTool(*name);
  if (!tool) {
    return InvalidParams("unknown tool " + Excerpt(*name) +
                         ". Valid: " + NamesOf(server.service().tools));
  }
  ToolResult answer = Run(*tool, *arguments, context);
  Json result;
  result["content"] = ToJson(answer.content);
  if (answer.is_error) {
    result["isError"] = true;
  } else if (answer.structured.is_object()) {
    result["structuredContent"] = std::move(answer.structured);
  }
  return result;
}

}  // namespace opguard::mcp
