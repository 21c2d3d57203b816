// The tools as subcommands: options from each tool's input schema, human text or --json.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "protocol/service.h"

namespace opguard::cli {

// Adds one subcommand per tool. When one is parsed, `run` is called with the tool's name, its
// arguments and whether --json was given; its result becomes `exit_status`.
class ToolCommands {
 public:
  using Run = std::function<int(const std::string& tool, const mcp::Json& arguments, bool json)>;
  // `command`: what follows `--` on the command line, for run_pair.
  ToolCommands(CLI::App& app, std::vector<std::string> command, Run run, int& exit_status);

 private:
  struct Values {
    std::map<std::string, std::vector<std::string>> options;
    std::map<std::string, bool> flags;
    bool json = false;
  };
  void AddTool(CLI::App& app, const mcp::Json& definition);
  mcp::Json Arguments(const mcp::Json& definition, const Values& values) const;

  std::vector<std::string> command_;
  Run run_;
  int& exit_status_;
  std::map<std::string, Values> values_;  // stable addresses: CLI11 writes into them
};

}  // namespace opguard::cli
