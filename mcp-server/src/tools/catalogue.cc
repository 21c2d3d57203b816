#include "tools/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <utility>

#include "opguard_embedded.h"
#include "tools/answer.h"
#include "tools/arguments.h"
#include "tools/nearest.h"
#include "tools/prompts.h"
#include "tools/tools.h"

namespace opguard::tools {
namespace {

using ToolFunction = std::function<Result<Json>(Workspace&, const Json&, mcp::CallContext&)>;

ToolFunction Reader(Result<Json> (*function)(Workspace&, const Json&)) {
  return [function](Workspace& workspace, const Json& arguments, mcp::CallContext&) {
    return function(workspace, arguments);
  };
}

const std::map<std::string, ToolFunction>& Functions() {
  static const std::map<std::string, ToolFunction> functions{
      {"run_pair", RunPair},
      {"first_diff", Reader(FirstDiff)},
      {"tensor_compare", Reader(TensorCompare)},
      {"call_stack", Reader(CallStack)},
      {"source_at", Reader(SourceAt)},
  };
  return functions;
}

constexpr const char* kInstructions =
    "OpGuard finds the first operation at which two PyTorch training runs that should match stop "
    "matching, and says why. Use it when losses, gradients or weights differ after a change, an "
    "upgrade, a resume or a rerun.\n"
    "1. run_pair runs both sides under capture (no edit to the code) and returns a pair_id. Few "
    "optimizer steps are enough. If it answers `running`, call it again with that pair_id.\n"
    "2. first_diff names the first op whose outputs differ while everything it consumed agrees: "
    "verdict, module, phase, step, source line, and what was equal before. Later differences are "
    "consequences: do not chase them.\n"
    "3. tensor_compare, call_stack and source_at show the tensor, the stack and the lines; take "
    "the calls in `next` as they are.\n"
    "4. Edit the code, then prove the fix with another run_pair and first_diff: `identical` is "
    "said only when everything was compared.\n"
    "`reason` states facts, `hypothesis` a guess. Read `coverage` and `warnings` before you "
    "conclude that nothing differs.";

}  // namespace

const std::vector<Json>& ToolDefinitions() {
  static const std::vector<Json> definitions = [] {
    std::vector<Json> list;
    for (const char* text : embedded::kToolDefinitions) list.push_back(Json::parse(text));
    return list;
  }();
  return definitions;
}

mcp::ToolResult CallTool(Workspace& workspace, const std::string& name, const Json& arguments,
                         mcp::CallContext& context) {
  const auto& definitions = ToolDefinitions();
  const auto definition = std::find_if(definitions.begin(), definitions.end(),
                                       [&](const Json& d) { return d.at("name") == name; });
  const auto function = Functions().find(name);
  if (definition == definitions.end() || function == Functions().end()) {
    std::vector<std::string> names;
    for (const Json& known : definitions) names.push_back(known.at("name").get<std::string>());
    return ErrorResult({ErrorCode::kNotFound, fmt::format("there is no tool '{}'.", name),
                        "use a tool of tools/list", Nearest(name, names)});
  }
  const auto checked = CheckArguments(arguments, definition->at("inputSchema"));
  if (!checked) return ErrorResult(checked.error());
  auto answer = function->second(workspace, *checked, context);
  if (!answer) return ErrorResult(answer.error());
  return Success(std::move(*answer));
}

mcp::Service MakeService(Workspace& workspace) {
  mcp::Service service;
  service.name = "opguard";
  service.title = "OpGuard";
  service.version = embedded::kVersion;
  service.instructions = kInstructions;
  for (const Json& definition : ToolDefinitions()) {
    mcp::Tool tool;
    tool.name = definition.at("name").get<std::string>();
    tool.title = definition.at("title").get<std::string>();
    tool.description = definition.at("description").get<std::string>();
    tool.input_schema = definition.at("inputSchema");
    tool.output_schema = definition.at("outputSchema");
    const Json& annotations = definition.at("annotations");
    tool.read_only = annotations.at("readOnlyHint").get<bool>();
    tool.destructive = annotations.at("destructiveHint").get<bool>();
    tool.idempotent = annotations.at("idempotentHint").get<bool>();
    tool.open_world = annotations.at("openWorldHint").get<bool>();
    tool.call = [&workspace, name = tool.name](const Json& arguments, mcp::CallContext& context) {
      return CallTool(workspace, name, arguments, context);
    };
    service.tools.push_back(std::move(tool));
  }
  service.prompts = Prompts();
  return service;
}

}  // namespace opguard::tools
