#include "tools/run_pair_request.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tools/command_line.h"

namespace opguard::tools {
namespace {

using mcp::Json;
using runner::PairSpec;
using runner::SideSpec;

Result<std::vector<std::string>> Argv(const Json& command) {
  if (command.is_array()) {
    auto argv = command.get<std::vector<std::string>>();
    if (argv.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "the command is an empty array.",
                  "give a command such as [\"python\", \"train.py\"]");
    }
    return argv;
  }
  return SplitCommand(command.get<std::string>());
}

void AddEnvironment(const Json& arguments, const char* key, SideSpec& side) {
  if (!arguments.contains(key)) return;
  for (const auto& [name, value] : arguments.at(key).items()) {
    side.env[name] = value.get<std::string>();
  }
}

Result<SideSpec> ParseSide(const Workspace& workspace, const Json& arguments, char letter) {
  const auto key = [&](const char* base) { return fmt::format("{}_{}", base, letter); };
  SideSpec side;
  const bool own = arguments.contains(key("command"));
  OPGUARD_ASSIGN(side.argv, Argv(arguments.at(own ? key("command") : "command")));
  if (arguments.contains(key("args"))) {
    for (const Json& item : arguments.at(key("args"))) side.argv.push_back(item.get<std::string>());
  }
  std::string workdir = arguments.value("workdir", workspace.workdir());
  workdir = arguments.value(key("workdir"), workdir);
  OPGUARD_ASSIGN(side.workdir, workspace.AllowedPath(workdir));
  AddEnvironment(arguments, "env", side);
  AddEnvironment(arguments, key("env").c_str(), side);
  side.git_ref = arguments.value(key("ref"), "");
  return side;
}

Result<void> CheckKind(const Json& arguments) {
  const auto has = [&](const char* key) { return arguments.contains(key); };
  if (!has("command") && !has("command_a") && !has("command_b")) {
    return Fail(ErrorCode::kInvalidArgument, "no command was given.",
                "give command (one program, run twice), or command_a and command_b, or pair_id");
  }
  if (has("command_a") != has("command_b")) {
    return Fail(ErrorCode::kInvalidArgument, "only one of command_a and command_b was given.",
                "give both, or command alone");
  }
  if (has("command") && has("command_a")) {
    return Fail(ErrorCode::kInvalidArgument, "command and command_a were both given.",
                "give command alone, or command_a and command_b");
  }
  if (has("ref_a") != has("ref_b")) {
    return Fail(ErrorCode::kInvalidArgument, "only one of ref_a and ref_b was given.",
                "give both revisions, such as HEAD~1 and HEAD");
  }
  return {};
}

}  // namespace

Result<PairSpec> ParseRunPair(const Workspace& workspace, const Json& arguments) {
  OPGUARD_TRY(CheckKind(arguments));
  PairSpec spec;
  OPGUARD_ASSIGN(spec.a, ParseSide(workspace, arguments, 'a'));
  OPGUARD_ASSIGN(spec.b, ParseSide(workspace, arguments, 'b'));
  spec.label = arguments.value("label", "");
  spec.mode = arguments.at("mode").get<std::string>();
  spec.level = arguments.at("level").get<std::string>();
  spec.determinism = arguments.at("determinism").get<std::string>();
  spec.repeats = arguments.at("repeats").get<std::uint32_t>();
  spec.from_step = arguments.at("from_step").get<std::uint32_t>();
  spec.steps = arguments.at("steps").get<std::uint32_t>();
  spec.stop_after_steps = arguments.at("stop_after_steps").get<bool>();
  spec.isolate = arguments.at("isolate").get<bool>();
  if (arguments.contains("link")) spec.link = arguments.at("link").get<std::vector<std::string>>();
  spec.timeout = std::chrono::seconds(arguments.at("timeout_s").get<std::int64_t>());
  return spec;
}

}  // namespace opguard::tools
