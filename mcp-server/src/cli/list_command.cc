#include "cli/list_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "cli/exit_status.h"
#include "tools/answer.h"

namespace opguard::cli {

int ListCommand(tools::Workspace& workspace) {
  const auto pairs = workspace.store().List();
  if (!pairs) {
    spdlog::error("{}", tools::ErrorText(pairs.error()));
    return kExitError;
  }
  if (pairs->empty()) spdlog::info("no pairs in {}", workspace.store().home());
  for (const std::string& id : *pairs) {
    const auto report = workspace.runner().Report(id);
    if (!report) {
      fmt::print("{}  unreadable: {}\n", id, report.error().message);
      continue;
    }
    std::string label;
    if (const auto pair = workspace.store().Open(id)) {
      if (const auto text = pair->Attribute("label")) label = *text;
    }
    std::string sides;
    for (const runner::SideReport& side : report->sides) {
      sides +=
          fmt::format("  {}: {} ops", side.run.side == analysis::Side::kA ? "A" : "B", side.ops);
    }
    fmt::print("{}  {}{}{}\n", id, report->status, sides, label.empty() ? "" : "  " + label);
  }
  return 0;
}

}  // namespace opguard::cli
