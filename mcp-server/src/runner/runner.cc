#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "runner/files.h"
#include "runner/pair_job.h"
#include "runner/pair_record.h"
#include "runner/run_pair.h"
#include "runner/run_report.h"

namespace opguard::runner {
namespace {

using analysis::Pair;
using analysis::RunInfo;
using analysis::RunState;
using analysis::Side;

using Clock = std::chrono::steady_clock;
constexpr auto kReportEvery = std::chrono::milliseconds(500);

Result<void> PlanRuns(Pair& pair, const PairSpec& spec, bool has_b) {
  for (std::uint32_t repeat = 1; repeat <= spec.repeats; ++repeat) {
    for (const Side side : {Side::kA, Side::kB}) {
      if (side == Side::kB && !has_b) continue;
      RunInfo run;
      run.side = side;
      run.repeat = repeat;
      run.directory =
          fmt::format("{}/{}.{}", pair.directory(), side == Side::kA ? "a" : "b", repeat);
      OPGUARD_TRY(pair.SaveRun(run));
    }
  }
  return {};
}

bool HasUnfinished(const std::vector<RunInfo>& runs) {
  for (const RunInfo& run : runs) {
    const RunState state = run.state;
    if (state == RunState::kRunning || state == RunState::kCancelled) return true;
    if (state == RunState::kPlanned) return true;
  }
  return false;
}

}  // namespace

struct Runner::Impl {
  explicit Impl(analysis::PairStore opened) : store(std::move(opened)) {}

  struct Running {
    std::shared_ptr<PairJob> job;
    std::thread thread;  // not joinable for Record, which runs on its caller's
  };

  void Launch(const std::string& id, std::shared_ptr<PairJob> job) {
    const std::lock_guard lock(mutex);
    JoinFinished(id);
    Running& running = jobs[id];
    running.job = job;
    running.thread = std::thread([this, id, job] {
      job->Run();
      const std::lock_guard done_lock(mutex);
      finished.push_back(id);
      changed.notify_all();
    });
  }
  // REQUIRES: mutex is held. Forgets the earlier, finished job of a pair.
  void JoinFinished(const std::string& id) {
    const auto at = jobs.find(id);
    if (at == jobs.end()) return;
    // Its thread has said that it is finished and needs no lock any more.
    if (at->second.thread.joinable()) at->second.thread.join();
    jobs.erase(at);
    std::erase(finished, id);
  }
  // REQUIRES: mutex is held.
  bool RunsHere(const std::string& id) const {
    return jobs.count(id) && std::find(finished.begin(), finished.end(), id) == finished.end();
  }

  analysis::PairStore store;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Running> jobs;
  std::vector<std::string> finished;
};

Runner::Runner(analysis::PairStore store) : impl_(std::make_unique<Impl>(std::move(store))) {}

Runner::~Runner() {
  Cancel("");
  for (auto& [id, running] : impl_->jobs) {
    if (running.thread.joinable()) running.thread.join();
  }
}

Result<std::string> Runner::Start(const PairSpec& spec) {
  OPGUARD_ASSIGN(Pair pair, impl_->store.Create(spec.label));
  OPGUARD_ASSIGN(auto lock, pair.TryLock());
  OPGUARD_TRY(SaveSpec(pair, spec));
  OPGUARD_TRY(PlanRuns(pair, spec, true));
  const std::string id = pair.id();
  impl_->Launch(
      id, std::make_shared<PairJob>(std::move(pair), std::move(lock), spec, impl_->store.home()));
  return id;
}

Result<void> Runner::Resume(const std::string& pair_id) {
  OPGUARD_ASSIGN(Pair pair, impl_->store.Open(pair_id));
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->RunsHere(pair_id)) return {};
  }
  auto lock = pair.TryLock();
  if (!lock && pair.LockHolder() != 0) return {};  // runs in another process
  if (!lock) return tl::unexpected<Error>(lock.error());
  OPGUARD_ASSIGN(const std::vector<RunInfo> runs, pair.Runs());
  OPGUARD_ASSIGN(const std::string kind, pair.Attribute("kind"));
  if (kind == "record") return {};
  OPGUARD_ASSIGN(PairSpec spec, LoadSpec(pair));
  if (runs.empty()) {
    OPGUARD_TRY(PlanRuns(pair, spec, true));  // the server ended between Create and here
  } else if (!HasUnfinished(runs)) {
    return {};
  }
  impl_->Launch(pair_id, std::make_shared<PairJob>(std::move(pair), std::move(*lock),
                                                   std::move(spec), impl_->store.home()));
  return {};
}

void Runner::Cancel(const std::string& pair_id) {
  const std::lock_guard lock(impl_->mutex);
  for (auto& [id, running] : impl_->jobs) {
    if (pair_id.empty() || id == pair_id) running.job->Cancel();
  }
}

void Runner::Wait(const std::string& pair_id, std::chrono::milliseconds wait,
                  const std::function<bool(const PairReport&)>& progress) {
  const auto deadline = Clock::now() + wait;
  for (;;) {
    const auto report = Report(pair_id);
    if (!report || report->status != "running") return;
    if (progress && !progress(*report)) return;
    const auto now = Clock::now();
    if (now >= deadline) return;
    std::unique_lock lock(impl_->mutex);
    const auto until = std::min(deadline, now + kReportEvery);
    if (impl_->RunsHere(pair_id)) {
      impl_->changed.wait_until(lock, until, [&] { return !impl_->RunsHere(pair_id); });
    } else {
      lock.unlock();  // in another process, or between its lock and its last word
      std::this_thread::sleep_until(std::min(until, now + std::chrono::milliseconds(100)));
    }
  }
}

Result<PairReport> Runner::Report(const std::string& pair_id) const {
  OPGUARD_ASSIGN(const Pair pair, impl_->store.Open(pair_id));
  bool is_running = false;
  {
    const std::lock_guard lock(impl_->mutex);
    is_running = impl_->RunsHere(pair_id);
  }
  return ReportPair(pair, is_running || pair.LockHolder() != 0);
}

Result<PairReport> Runner::Record(const SideSpec& side, const PairSpec& options,
                                  const std::function<void(const std::string&)>& progress) {
  PairSpec spec = options;
  spec.a = side;
  spec.b = SideSpec{};
  spec.repeats = 1;
  OPGUARD_ASSIGN(Pair pair, impl_->store.Create(options.label));
  OPGUARD_ASSIGN(auto lock, pair.TryLock());
  OPGUARD_TRY(SaveSpec(pair, spec));
  OPGUARD_TRY(pair.SetAttribute("kind", "record"));
  OPGUARD_TRY(PlanRuns(pair, spec, false));
  const std::string id = pair.id();
  const auto job =
      std::make_shared<PairJob>(std::move(pair), std::move(lock), spec, impl_->store.home());
  {
    const std::lock_guard guard(impl_->mutex);
    impl_->jobs[id].job = job;
  }
  job->RunInForeground(progress);
  {
    const std::lock_guard guard(impl_->mutex);
    impl_->jobs.erase(id);
  }
  return Report(id);
}

}  // namespace opguard::runner
