#include "runner/pair_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include "runner/build_capture.h"
#include "runner/capture_environment.h"
#include "runner/capture_sources.h"
#include "runner/files.h"
#include "runner/git.h"
#include "runner/interpreter.h"
#include "runner/pair_record.h"
#include "runner/run_report.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;
using analysis::RunInfo;
using analysis::RunState;
using analysis::Side;

constexpr auto kTick = std::chrono::milliseconds(100);
// Leaves the promised 2 s a margin for the tick and for reaping.
constexpr auto kKillAfter = std::chrono::milliseconds(1700);

bool IsUnfinished(const RunInfo& run) {
  return run.state == RunState::kPlanned || run.state == RunState::kRunning ||
         run.state == RunState::kCancelled;
}

std::string Listed(const std::vector<std::string>& items, std::size_t most) {
  const std::vector<std::string> first(
      items.begin(), items.begin() + static_cast<long>(std::min(items.size(), most)));
  std::string text = fmt::format("{}", fmt::join(first, ", "));
  if (items.size() > most) text += fmt::format(" and {} more", items.size() - most);
  return text;
}

}  // namespace

PairJob::PairJob(analysis::Pair pair, std::unique_ptr<analysis::Pair::Lock> lock, PairSpec spec,
                 std::string home)
    : pair_(std::move(pair)),
      lock_(std::move(lock)),
      spec_(std::move(spec)),
      home_(std::move(home)) {}

const SideSpec& PairJob::SideOf(const RunInfo& run) const {
  return run.side == Side::kA ? spec_.a : spec_.b;
}

void PairJob::SetPhase(const std::string& phase) {
  if (progress_) progress_(phase);
  (void)pair_.SetAttribute("phase", phase);  // only shown to people
}

void PairJob::Warn(const std::string& text) { (void)AddWarning(pair_, text); }

void PairJob::Run() { Finish(RunAll()); }

void PairJob::RunInForeground(const std::function<void(const std::string&)>& progress) {
  progress_ = progress;
  (void)pair_.SetAttribute("problem", "");
  auto runs = pair_.Runs();
  if (!runs) return Finish(tl::unexpected<Error>(runs.error()));
  Finish(runs->empty() ? Result<void>() : RunOne(runs->front(), true));
}

// A failure of ours (disk, git, compiler) is told as the pair's problem and tried again by Resume.
void PairJob::Finish(const Result<void>& outcome) {
  if (!outcome && outcome.error().code != ErrorCode::kCancelled) {
    const Error& error = outcome.error();
    (void)pair_.SetAttribute(
        "problem", error.fix.empty() ? error.message : error.message + ". Fix: " + error.fix);
  }
  lock_.reset();
}

Result<void> PairJob::RunAll() {
  OPGUARD_TRY(pair_.SetAttribute("problem", ""));
  OPGUARD_ASSIGN(std::vector<RunInfo> runs, pair_.Runs());
  std::stable_sort(runs.begin(), runs.end(),
                   [](const RunInfo& x, const RunInfo& y) { return x.repeat < y.repeat; });
  for (RunInfo& run : runs) {
    if (IsUnfinished(run)) OPGUARD_TRY(RunOne(run, false));
    if (!Captured(run)) return {};  // nothing to compare with: the other runs would be in vain
  }
  return {};
}

bool PairJob::Captured(const RunInfo& run) { return ReportRun(pair_, run, nullptr).ops > 0; }

Result<void> PairJob::RunOne(RunInfo& run, bool in_foreground) {
  const SideSpec& side = SideOf(run);
  const std::string name = RunName(run);
  const auto outcome = [&]() -> Result<void> {
    if (cancelled_) return Fail(ErrorCode::kCancelled, "cancelled");
    SetPhase(fmt::format("preparing {}", name));
    if (!side.git_ref.empty()) WarnUntracked(side);
    OPGUARD_TRY(ClearDirectory(run));
    const std::string scratch =
        fmt::format("{}/work-{}", pair_.directory(), fs::path(run.directory).filename().string());
    OPGUARD_ASSIGN(const SideFolder folder, SideFolder::Make(spec_, side, scratch, home_));
    return StartAndWait(folder, run, in_foreground);
  }();
  if (!outcome && outcome.error().code == ErrorCode::kCancelled) {
    run.state = RunState::kCancelled;
    OPGUARD_TRY(pair_.SaveRun(run));
  }
  return outcome;
}

// What an interrupted run captured is kept aside until the next interruption.
Result<void> PairJob::ClearDirectory(const RunInfo& run) {
  std::error_code error;
  const std::string aside = run.directory + ".interrupted";
  if (fs::exists(run.directory, error)) {
    fs::remove_all(aside, error);
    fs::rename(run.directory, aside, error);
  }
  fs::create_directories(run.directory, error);
  if (!error) return {};
  return Fail(ErrorCode::kIo, fmt::format("cannot write {}: {}", run.directory, error.message()),
              "make the pair's folder writable");
}

Result<std::string> PairJob::PrepareCapture(const SideSpec& side, const SideFolder& folder,
                                            const std::string& name) {
  const Environment environment = EnvironmentWith(side.env);
  OPGUARD_ASSIGN(const Interpreter interpreter,
                 ResolveInterpreter(folder.Argv(side), environment, folder.workdir()));
  Warn(interpreter.warning);
  auto torch = ProbeTorch(interpreter.path, environment, folder.workdir());
  if (!torch && !interpreter.certain) {
    // The command will tell: its own interpreter may have a torch whose library is in the cache.
    return CacheDirectory();
  }
  if (!torch) return tl::unexpected<Error>(torch.error());
  SetPhase(fmt::format("preparing capture for {}", name));
  OPGUARD_ASSIGN(const CaptureLibrary library,
                 BuildCapture(
                     *torch, [this](const std::string& line) { SetPhase(line); },
                     [this] { return cancelled_.load(); }));
  return library.cache;
}

Result<std::unique_ptr<Process>> PairJob::StartProcess(const SideFolder& folder, const RunInfo& run,
                                                       bool in_foreground) {
  const SideSpec& side = SideOf(run);
  OPGUARD_ASSIGN(const std::string cache, PrepareCapture(side, folder, RunName(run)));
  OPGUARD_ASSIGN(const std::string shim, ShimFolder());
  ProcessSpec spec;
  spec.argv = folder.Argv(side);
  spec.environment = AsList(CaptureEnvironment(spec_, side, run.directory, cache, shim));
  spec.workdir = folder.workdir();
  if (!in_foreground) {
    spec.stdout_path = run.directory + "/stdout.log";
    spec.stderr_path = run.directory + "/stderr.log";
  }
  spec.lock_path = run.directory + ".lock";
  spec.kill_after = kKillAfter;
  SetPhase(fmt::format("running {}", RunName(run)));
  auto process = Process::Start(spec);
  // Of a server that was killed: its supervisor may need two seconds to end what it ran.
  for (int tries = 0; !process && process.error().code == ErrorCode::kIncomplete && tries < 50;
       ++tries) {
    std::this_thread::sleep_for(kTick);
    process = Process::Start(spec);
  }
  return process;
}

Result<void> PairJob::StartAndWait(const SideFolder& folder, RunInfo& run, bool in_foreground) {
  std::map<std::string, FolderState> shared;
  if (!in_foreground) shared = SharedFolders(run, folder);
  OPGUARD_ASSIGN(const std::unique_ptr<Process> process, StartProcess(folder, run, in_foreground));
  run.state = RunState::kRunning;
  run.exit_code.reset();
  run.signal = 0;
  run.started_unix_ms = NowUnixMs();
  run.finished_unix_ms = 0;
  run.pid = process->pid();
  OPGUARD_TRY(pair_.SaveRun(run));
  WaitFor(*process, run);
  run.finished_unix_ms = NowUnixMs();
  SetPhase(fmt::format("checking {}", RunName(run)));
  CheckAfter(run, folder);
  CompareShared(shared);
  if (run.state == RunState::kComplete && !Captured(run)) run.state = RunState::kFailed;
  OPGUARD_TRY(pair_.SaveRun(run));
  if (run.state == RunState::kCancelled) return Fail(ErrorCode::kCancelled, "cancelled");
  return {};
}

std::map<std::string, FolderState> PairJob::SharedFolders(const RunInfo& run,
                                                          const SideFolder& folder) const {
  std::map<std::string, FolderState> shared;
  if (run.side != Side::kA || run.repeat != 1) return shared;
  if (folder.workdir() == spec_.b.workdir) {
    shared.emplace(folder.workdir(), FolderState(folder.workdir(), home_));
  }
  const auto caches = CompileCaches(EnvironmentWith(spec_.a.env));
  if (caches != CompileCaches(EnvironmentWith(spec_.b.env))) return shared;
  for (const std::string& cache : caches) shared.emplace(cache, FolderState(cache, home_));
  return shared;
}

void PairJob::CompareShared(const std::map<std::string, FolderState>& before) {
  for (const auto& [folder, state] : before) {
    const auto changed = state.ChangedIn(FolderState(folder, home_));
    if (changed.empty()) continue;
    if (folder == spec_.b.workdir) {
      Warn(
          fmt::format("A created or changed files under workdir that B starts with: {}. If the "
                      "program reads them (a checkpoint, a cache), use isolate",
                      Listed(changed, 10)));
    } else {
      Warn(
          fmt::format("A compiled into {} ({} files); B found them there. Run the pair again for "
                      "two warm sides, or give each side a folder of its own by env_a and env_b",
                      folder, changed.size()));
    }
  }
}

void PairJob::WaitFor(Process& process, RunInfo& run) {
  const auto deadline = std::chrono::steady_clock::now() + spec_.timeout;
  std::optional<Ending> ending;
  RunState ended_by_us = RunState::kComplete;
  while (!(ending = process.Wait(kTick))) {
    if (ended_by_us != RunState::kComplete) continue;
    if (cancelled_) ended_by_us = RunState::kCancelled;
    if (std::chrono::steady_clock::now() > deadline) ended_by_us = RunState::kTimedOut;
    if (ended_by_us != RunState::kComplete) process.Terminate();
  }
  run.exit_code = ending->exit_code;
  run.signal = ending->signal;
  if (ended_by_us != RunState::kComplete) {
    run.state = ended_by_us;
  } else {
    run.state = ending->exit_code == 0 ? RunState::kComplete : RunState::kFailed;
  }
  if (run.state == RunState::kTimedOut) {
    Warn(fmt::format("{}: ended after timeout_s={}; what it captured until then is kept",
                     RunName(run), spec_.timeout.count()));
  }
  if (ending->leftovers > 0) {
    Warn(fmt::format("{}: {} processes outlived the command by two seconds and were ended",
                     RunName(run), ending->leftovers));
  }
}

void PairJob::CheckAfter(const RunInfo& run, const SideFolder& folder) {
  const SideReport report = ReportRun(pair_, run, nullptr);
  const std::string name = RunName(run);
  if (report.ops == 0) {
    Warn(NothingCaptured(name, report));
    return;
  }
  if (report.trace_state == "incomplete" && run.state == RunState::kComplete) {
    Warn(
        fmt::format("{}: a process ended without closing its trace (os._exit, abort); the trace "
                    "is a prefix of the run",
                    name));
  }
  if (!folder.worktree().empty()) CheckSources(run, report, folder);
}

void PairJob::CheckSources(const RunInfo& run, const SideReport& report, const SideFolder& folder) {
  const auto foreign = ForeignSources(report, folder.repository(), folder.worktree());
  if (foreign.empty()) return;
  (void)pair_.SetAttribute("incomparable", "1");
  Warn(
      fmt::format("incomparable: {} ran sources of the repository that are not of revision {}: "
                  "{}. An editable install or an absolute path makes both sides run the same "
                  "code; install nothing of it, or put the worktree first on PYTHONPATH",
                  RunName(run), SideOf(run).git_ref, Listed(foreign, 5)));
}

void PairJob::WarnUntracked(const SideSpec& side) {
  const auto root = RepositoryRoot(side.workdir);
  if (!root) return;
  std::vector<std::string> lacking;
  for (const std::string& path : UntrackedPaths(*root)) {
    const bool is_noise = path.find("__pycache__") != std::string::npos ||
                          path.rfind(".opguard", 0) == 0 || path.rfind(".pytest_cache", 0) == 0;
    const bool is_linked = std::any_of(spec_.link.begin(), spec_.link.end(), [&](const auto& l) {
      return path == l || path == l + "/" || path.rfind(l + "/", 0) == 0;
    });
    if (!is_noise && !is_linked) lacking.push_back(path);
  }
  if (lacking.empty()) return;
  Warn(
      fmt::format("the worktrees lack what git does not track: {}. Carry what the program needs "
                  "with link",
                  Listed(lacking, 10)));
}

}  // namespace opguard::runner
