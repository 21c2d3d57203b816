#include "cli/record_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <utility>

#include "cli/cli_context.h"
#include "cli/exit_status.h"
#include "tools/answer.h"

namespace opguard::cli {

RecordCommand::RecordCommand(CLI::App& app, std::vector<std::string> command,
                             WithWorkspace with_workspace, int& exit_status)
    : command_(std::move(command)) {
  CLI::App* sub = app.add_subcommand(
      "record", "Run one command under capture: opguard-mcp record -- python train.py");
  sub->add_option("--mode", spec_.mode, "full, or trusted: skip inputs unchanged since last read")
      ->check(CLI::IsMember({"full", "trusted"}));
  sub->add_option("--level", spec_.level, "outer, or inner: fingerprint calls inside ops too")
      ->check(CLI::IsMember({"outer", "inner"}));
  sub->add_option("--determinism", spec_.determinism, "record, or on: set torch's switches")
      ->check(CLI::IsMember({"record", "on"}));
  sub->add_option("--from-step", spec_.from_step, "first optimizer step recorded")
      ->check(CLI::PositiveNumber);
  sub->add_option("--steps", spec_.steps, "steps recorded; 0: to the end");
  sub->add_flag("--stop-after-steps", spec_.stop_after_steps, "end the training after the window");
  sub->add_option("--label", spec_.label, "name of the pair");
  sub->callback([this, with_workspace = std::move(with_workspace), &exit_status] {
    exit_status = with_workspace([this](tools::Workspace& workspace) { return Run(workspace); });
  });
}

int RecordCommand::Run(tools::Workspace& workspace) const {
  const auto fail = [](const Error& error) {
    spdlog::error("{}", tools::ErrorText(error));
    return kExitError;
  };
  if (command_.empty()) {
    return fail({ErrorCode::kInvalidArgument,
                 "record was given no command.",
                 "put it after --, as in: opguard-mcp record -- python train.py",
                 {}});
  }
  const auto workdir = workspace.AllowedPath(workspace.workdir());
  if (!workdir) return fail(workdir.error());
  runner::SideSpec side;
  side.argv = command_;
  side.workdir = *workdir;

  CliContext context(true);
  context.OnCancel([&workspace] { workspace.runner().Cancel(""); });
  const auto report = workspace.runner().Record(
      side, spec_, [](const std::string& line) { spdlog::info("{}", line); });
  if (!report) return fail(report.error());
  for (const std::string& warning : report->warnings) spdlog::warn("{}", warning);
  if (report->sides.empty()) return kExitError;
  const runner::SideReport& run = report->sides.front();
  for (const std::string& trace : run.traces) {
    spdlog::info("recorded {} ops, {} tensors: {}", run.ops, run.tensors, trace);
  }
  if (run.ops == 0) return kExitError;
  if (run.run.exit_code) return *run.run.exit_code;
  return run.run.signal != 0 ? 128 + run.run.signal : kExitError;
}

}  // namespace opguard::cli
