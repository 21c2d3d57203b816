#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "render/numbers.h"
#include "tools/answer.h"
#include "tools/run_pair_request.h"
#include "tools/tools.h"

namespace opguard::tools {
namespace {

using runner::PairReport;
using runner::SideReport;

std::string SideLetter(analysis::Side side) { return side == analysis::Side::kA ? "a" : "b"; }

Json SideJson(const SideReport& report) {
  Json side{{"side", SideLetter(report.run.side)},
            {"repeat", report.run.repeat},
            {"state", analysis::RunStateName(report.run.state)},
            {"exit_code", report.run.exit_code ? Json(*report.run.exit_code) : Json(nullptr)},
            {"signal", report.run.signal ? Json(report.run.signal) : Json(nullptr)},
            {"ops", report.ops},
            {"tensors", report.tensors},
            {"trace_bytes", report.bytes},
            {"trace_state", report.trace_state},
            {"traces", report.traces}};
  if (!report.notes.empty()) side["notes"] = report.notes;
  return side;
}

// What differs from run to run stands apart: times, process ids and the last lines of stderr.
Json RunJson(const PairReport& report) {
  Json runs = Json::array();
  for (const SideReport& side : report.sides) {
    Json run{{"side", SideLetter(side.run.side)},
             {"repeat", side.run.repeat},
             {"directory", side.run.directory}};
    if (side.run.started_unix_ms > 0 && side.run.finished_unix_ms > 0) {
      run["seconds"] =
          static_cast<double>(side.run.finished_unix_ms - side.run.started_unix_ms) / 1000.0;
    }
    const bool failed = side.run.state == analysis::RunState::kFailed ||
                        side.run.state == analysis::RunState::kTimedOut;
    if (failed) run["stderr_tail"] = side.stderr_tail;
    runs.push_back(std::move(run));
  }
  return Json{{"phase", report.phase}, {"runs", std::move(runs)}};
}

bool Comparable(const PairReport& report) {
  bool a = false, b = false;
  for (const SideReport& side : report.sides) {
    (side.run.side == analysis::Side::kA ? a : b) |= side.ops > 0;
  }
  return a && b;
}

std::string SideText(const SideReport& side) {
  std::string text = fmt::format(
      "{}{}: {}", side.run.side == analysis::Side::kA ? "A" : "B",
      side.run.repeat > 1 ? fmt::format(" (repeat {})", side.run.repeat) : std::string{},
      analysis::RunStateName(side.run.state));
  if (side.run.exit_code && *side.run.exit_code != 0) {
    text += fmt::format(", exit status {}", *side.run.exit_code);
  }
  if (side.run.signal) text += fmt::format(", signal {}", side.run.signal);
  return text +
         fmt::format(", {} recorded", render::Plural(static_cast<std::uint64_t>(side.ops), "op"));
}

std::string Summary(const PairReport& report) {
  std::vector<std::string> sides;
  for (const SideReport& side : report.sides) sides.push_back(SideText(side));
  std::string text =
      fmt::format("{} {}: {}.", report.pair_id, report.status, fmt::join(sides, "; "));
  if (report.status == "running") {
    text += fmt::format(" Now: {}. Call run_pair with pair_id {} to wait on.", report.phase,
                        report.pair_id);
  } else if (Comparable(report)) {
    text += " Call first_diff.";
  } else {
    text += " Nothing to compare yet: read warnings and run.";
  }
  return text;
}

Json ReportJson(const PairReport& report) {
  Json sides = Json::array();
  for (const SideReport& side : report.sides) sides.push_back(SideJson(side));
  Json answer{{"status", report.status},   {"summary", Summary(report)},
              {"pair_id", report.pair_id}, {"sides", std::move(sides)},
              {"run", RunJson(report)},    {"warnings", report.warnings},
              {"next", Json::array()}};
  if (report.status == "running") {
    answer["next"].push_back(
        Suggest("run_pair", {{"pair_id", report.pair_id}}, "waits for the runs to end"));
  } else if (Comparable(report)) {
    answer["next"].push_back(
        Suggest("first_diff", {{"pair_id", report.pair_id}}, "the first op that differs"));
  }
  if (report.status == "cancelled" || report.status == "incomplete") {
    answer["next"].push_back(
        Suggest("run_pair", {{"pair_id", report.pair_id}}, "runs what was interrupted again"));
  }
  return answer;
}

tl::unexpected<Error> PreflightError(const std::vector<runner::Problem>& problems) {
  std::vector<std::string> messages, fixes;
  for (const runner::Problem& problem : problems) {
    messages.push_back(problem.message);
    if (!problem.fix.empty()) fixes.push_back(problem.fix);
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("preflight found {}: {}", render::Plural(problems.size(), "problem"),
                          fmt::join(messages, "; ")),
              fmt::format("{}", fmt::join(fixes, "; ")));
}

Result<std::string> StartOrResume(Workspace& workspace, const Json& arguments) {
  if (arguments.contains("pair_id")) {
    const std::string pair_id = arguments.at("pair_id").get<std::string>();
    OPGUARD_TRY(workspace.store().Open(pair_id));
    OPGUARD_TRY(workspace.runner().Resume(pair_id));
    return pair_id;
  }
  OPGUARD_ASSIGN(const runner::PairSpec spec, ParseRunPair(workspace, arguments));
  if (const auto problems = runner::Preflight(spec); !problems.empty()) {
    return PreflightError(problems);
  }
  OPGUARD_ASSIGN(const std::string pair_id, workspace.runner().Start(spec));
  if (auto pair = workspace.store().Open(pair_id)) {
    Json request = arguments;
    request.erase("wait_s");
    (void)pair->SetAttribute("request", request.dump());  // only used for suggestions
  }
  return pair_id;
}

}  // namespace

Result<Json> RunPair(Workspace& workspace, const Json& arguments, mcp::CallContext& context) {
  OPGUARD_ASSIGN(const std::string pair_id, StartOrResume(workspace, arguments));
  context.OnCancel([&workspace, pair_id] { workspace.runner().Cancel(pair_id); });
  double ticks = 0;
  workspace.runner().Wait(pair_id, std::chrono::seconds(arguments.at("wait_s").get<std::int64_t>()),
                          [&](const PairReport& report) {
                            context.Progress(++ticks, std::nullopt, report.phase);
                            return !context.cancelled();
                          });
  OPGUARD_ASSIGN(const PairReport report, workspace.runner().Report(pair_id));
  return FitBudget(kNormalBudget, {40, 10, 3, 0}, [&](std::size_t lines) {
    PairReport shorter = report;
    for (SideReport& side : shorter.sides) {
      if (side.stderr_tail.size() > lines) {
        side.stderr_tail.erase(side.stderr_tail.begin(),
                               side.stderr_tail.end() - static_cast<std::ptrdiff_t>(lines));
      }
    }
    return ReportJson(shorter);
  });
}

}  // namespace opguard::tools
