// `opguard-mcp record -- CMD`: one run of a command under capture, as side A of a new pair.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "runner/run_pair.h"
#include "tools/workspace.h"

namespace opguard::cli {

// The subcommand's options. `command`: what follows `--`. Construct before parsing; it must outlive
// the parsing.
class RecordCommand {
 public:
  using WithWorkspace = std::function<int(const std::function<int(tools::Workspace&)>&)>;
  RecordCommand(CLI::App& app, std::vector<std::string> command, WithWorkspace with_workspace,
                int& exit_status);

 private:
  int Run(tools::Workspace& workspace) const;

  std::vector<std::string> command_;
  runner::PairSpec spec_;
};

}  // namespace opguard::cli
