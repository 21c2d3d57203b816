// opguard-mcp: the Model Context Protocol server, and its tools as subcommands.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "cli/build_command.h"
#include "cli/cli_context.h"
#include "cli/exit_status.h"
#include "cli/list_command.h"
#include "cli/record_command.h"
#include "cli/serve.h"
#include "cli/tool_command.h"
#include "opguard/analysis/pair.h"
#include "render/human.h"
#include "tools/catalogue.h"
#include "tools/workspace.h"

namespace {

using namespace opguard;

struct Settings {
  bool stdio = false;
  std::string workdir = std::filesystem::current_path().string();
  std::string home;  // empty: PairStore::DefaultHome
  std::vector<std::string> allowed_roots;
};

// Standard output carries answers (or the protocol) and nothing else.
void LogToStderr() {
  spdlog::set_default_logger(spdlog::stderr_color_mt("opguard"));
  spdlog::set_pattern("opguard: %^%v%$");
}

tools::Workspace MakeWorkspace(const Settings& settings) {
  return tools::Workspace(
      settings.workdir,
      settings.home.empty() ? analysis::PairStore::DefaultHome(settings.workdir) : settings.home,
      settings.allowed_roots);
}

int RunTool(const Settings& settings, const std::string& tool, const mcp::Json& arguments,
            bool json) {
  tools::Workspace workspace = MakeWorkspace(settings);
  cli::CliContext context(true);  // its actions use the workspace
  mcp::Json given = arguments;
  // A person at a shell waits; --wait-s still gives up earlier.
  if (tool == "run_pair" && !given.contains("wait_s")) given["wait_s"] = 3600;
  const mcp::ToolResult result = tools::CallTool(workspace, tool, given, context);
  if (result.is_error) {
    spdlog::error("{}", result.content.front().text);
  } else if (json) {
    fmt::print("{}\n", result.structured.dump(2, ' ', false, mcp::Json::error_handler_t::replace));
  } else {
    fmt::print("{}", render::HumanText(result.structured));
  }
  return cli::ExitStatus(tool, result);
}

// What follows the first `--`, taken out of `arguments`.
std::vector<std::string> TakeCommand(std::vector<std::string>& arguments) {
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  if (separator == arguments.end()) return {};
  std::vector<std::string> command(std::next(separator), arguments.end());
  arguments.erase(separator, arguments.end());
  return command;
}

}  // namespace

int main(int argc, char** argv) {
  LogToStderr();
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::vector<std::string> command = TakeCommand(arguments);

  CLI::App app{"Finds the first operation at which two training runs stop matching, and says why."};
  app.name("opguard-mcp");
  app.set_version_flag("--version", OPGUARD_VERSION);
  app.require_subcommand(0, 1);
  app.fallthrough();
  Settings settings;
  int status = 0;
  app.add_flag("--stdio", settings.stdio, "serve MCP on standard input and output");
  app.add_option("--home", settings.home, "folder of the pairs [$OPGUARD_HOME or ./.opguard]");
  app.add_option("--allow-root", settings.allowed_roots,
                 "allow only commands and sources under this folder (repeatable)");

  const cli::ToolCommands tool_commands(
      app, command,
      [&settings](const std::string& tool, const mcp::Json& tool_arguments, bool json) {
        return RunTool(settings, tool, tool_arguments, json);
      },
      status);
  const auto with_workspace = [&settings](const std::function<int(tools::Workspace&)>& action) {
    tools::Workspace workspace = MakeWorkspace(settings);
    return action(workspace);
  };
  const cli::RecordCommand record(app, command, with_workspace, status);
  std::string python = "python3";
  CLI::App* build = app.add_subcommand(
      "build-capture", "Build the capture library for an interpreter's torch, once");
  build->add_option("--python", python, "interpreter that has torch [python3]");
  build->callback([&] { status = cli::BuildCaptureCommand(python); });
  app.add_subcommand("list", "List the recorded pairs, newest first")->callback([&] {
    status = with_workspace(cli::ListCommand);
  });

  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes a vector from its end
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    const int exit_code = app.exit(error, std::cout, std::cerr);
    return exit_code == 0 ? 0 : cli::kExitError;
  }
  if (!app.get_subcommands().empty()) return status;
  if (settings.stdio) {
    tools::Workspace workspace = MakeWorkspace(settings);
    return cli::Serve(workspace);
  }
  fmt::print(stderr, "{}", app.help());
  return cli::kExitError;
}
