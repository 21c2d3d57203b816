#include "runner/run_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "opguard/store/trace_reader.h"
#include "runner/files.h"
#include "runner/git.h"
#include "runner/pair_record.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;
using analysis::RunInfo;
using analysis::RunState;

constexpr std::size_t kTail = 40;

std::int64_t BytesOfTraces(const std::string& directory) {
  std::int64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.find(".opguard") == std::string::npos) continue;
    std::error_code gone;
    const auto size = at->file_size(gone);
    if (!gone) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

bool IsUnfinished(const SideReport& side) {
  return side.run.state == RunState::kPlanned || side.run.state == RunState::kRunning;
}

std::string StatusOf(const std::vector<SideReport>& sides, bool is_running, bool has_problem) {
  const auto any = [&](auto&& test) { return std::any_of(sides.begin(), sides.end(), test); };
  const auto is = [](RunState state) {
    return [state](const SideReport& side) { return side.run.state == state; };
  };
  if (is_running) return "running";
  if (any(is(RunState::kCancelled))) return "cancelled";
  if (any(is(RunState::kFailed)) || any(is(RunState::kTimedOut)) || has_problem) return "failed";
  return sides.empty() || any(IsUnfinished) ? "incomplete" : "complete";
}

}  // namespace

std::string RunName(const RunInfo& run) {
  const char* side = run.side == analysis::Side::kA ? "A" : "B";
  return run.repeat == 1 ? side : fmt::format("{} (repeat {})", side, run.repeat);
}

std::vector<std::string> ReadNotes(const std::string& directory) {
  std::map<std::string, int> counts;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.rfind("note-", 0) != 0) continue;
    std::set<std::string> of_process;
    for (std::string line : SplitLines(ReadText(at->path().string()))) {
      if (const auto tab = line.find('\t'); tab != std::string::npos) line.replace(tab, 1, ": ");
      of_process.insert(line);
    }
    for (const std::string& note : of_process) ++counts[note];
  }
  std::vector<std::string> notes;
  for (const auto& [note, count] : counts) {
    if (notes.size() == 20) break;
    notes.push_back(count == 1 ? note : fmt::format("{} ({} processes)", note, count));
  }
  return notes;
}

SideReport ReportRun(const analysis::Pair& pair, const RunInfo& run,
                     std::vector<std::string>* problems) {
  SideReport report;
  report.run = run;
  report.trace_state = "none";
  report.stderr_tail = TailLines(run.directory + "/stderr.log", kTail);
  report.notes = ReadNotes(run.directory);
  report.bytes = BytesOfTraces(run.directory);
  if (run.state == RunState::kRunning || run.state == RunState::kPlanned) return report;
  const auto traces = pair.Traces(run, problems);
  if (!traces) {
    if (problems != nullptr) problems->push_back(traces.error().message);
    return report;
  }
  for (const analysis::TraceFile& file : *traces) {
    report.ops += file.ops;
    report.tensors += file.tensors;
    report.traces.push_back(file.path);
    // A helper that was ended with its parent does not make the rank's trace incomplete.
    if (!file.auxiliary && !file.complete) report.trace_state = "incomplete";
  }
  if (!report.traces.empty() && report.trace_state == "none") report.trace_state = "complete";
  return report;
}

Result<PairReport> ReportPair(const analysis::Pair& pair, bool is_running) {
  PairReport report;
  report.pair_id = pair.id();
  OPGUARD_ASSIGN(const std::string warnings, pair.Attribute("warnings"));
  report.warnings = DecodeList(warnings);
  OPGUARD_ASSIGN(const std::string problem, pair.Attribute("problem"));
  if (!problem.empty()) report.warnings.insert(report.warnings.begin(), problem);
  OPGUARD_ASSIGN(std::vector<RunInfo> runs, pair.Runs());
  std::stable_sort(runs.begin(), runs.end(),
                   [](const RunInfo& x, const RunInfo& y) { return x.repeat < y.repeat; });
  for (const RunInfo& run : runs) {
    report.sides.push_back(ReportRun(pair, run, &report.warnings));
  }
  report.status = StatusOf(report.sides, is_running, !problem.empty());
  OPGUARD_ASSIGN(report.phase, pair.Attribute("phase"));
  if (!is_running) report.phase = report.status;
  return report;
}

std::string NothingCaptured(const std::string& run, const SideReport& report) {
  std::string text = fmt::format("{}: no process captured anything.", run);
  if (!report.notes.empty()) {
    return text + fmt::format(" The processes say: {}", fmt::join(report.notes, "; "));
  }
  return text +
         " Causes: no process of the command ran an operator of torch; Python was started with "
         "-I, -E or -S; the command or a launcher replaces PYTHONPATH; the training runs in a "
         "container or on another machine, which must be given the variables PYTHONPATH and "
         "OPGUARD_CAPTURE";
}

std::vector<std::string> ForeignSources(const SideReport& report, const std::string& repository,
                                        const std::string& worktree) {
  std::set<std::string> candidates;
  for (const std::string& path : report.traces) {
    const auto reader = store::TraceReader::Open(path);
    if (!reader) continue;
    const auto facts = (*reader)->ReadFacts();
    if (!facts) continue;
    for (const store::FrameRow& frame : facts->frames) {
      const bool below = frame.path.rfind(repository + "/", 0) == 0;
      if (below && frame.path.rfind(worktree + "/", 0) != 0) candidates.insert(frame.path);
    }
  }
  if (candidates.empty()) return {};
  // Environments and data inside the repository are meant to be shared; its own sources are not.
  const auto tracked = TrackedFiles(repository);
  std::vector<std::string> foreign;
  for (const std::string& path : candidates) {
    if (foreign.size() < 10 && tracked.count(path.substr(repository.size() + 1))) {
      foreign.push_back(path);
    }
  }
  return foreign;
}

}  // namespace opguard::runner
