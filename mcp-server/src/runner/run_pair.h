// Runs the two sides of a pair under capture. No JSON, no MCP: plain structs in and out.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "opguard/analysis/pair.h"
#include "opguard/store/result.h"

namespace opguard::runner {

struct SideSpec {
  std::vector<std::string> argv;
  std::string workdir;                     // absolute
  std::map<std::string, std::string> env;  // added to the server's environment
  std::string git_ref;                     // non-empty: runs in a worktree of that revision
};

struct PairSpec {
  SideSpec a, b;
  std::string label;
  std::string mode = "full";           // full | trusted
  std::string level = "outer";         // outer | inner
  std::string determinism = "record";  // record | on
  std::uint32_t repeats = 1;
  std::uint32_t from_step = 1, steps = 0;  // 0: to the end
  bool stop_after_steps = false;
  bool isolate = false;                // each side runs in its own copy of workdir
  std::vector<std::string> link;       // untracked paths carried into worktrees
  std::chrono::seconds timeout{3600};  // a side
};

struct Problem {  // found by preflight
  std::string code, message, fix;
};

struct SideReport {
  analysis::RunInfo run;
  std::int64_t ops = 0, tensors = 0, bytes = 0;
  std::vector<std::string> traces;       // paths
  std::vector<std::string> stderr_tail;  // last 40 lines
  std::string trace_state;               // "complete", "incomplete", "none"
  std::vector<std::string> notes;        // why a process was not captured
};

struct PairReport {
  std::string pair_id;
  std::string status;             // complete, running, failed, cancelled, incomplete
  std::vector<SideReport> sides;  // in running order, repeats included
  std::vector<std::string> warnings;
  std::string phase;  // what is happening now: "building capture", "running A", ...
};

// Checks everything that can be checked before running; all problems at once. Empty: good to go.
// `home` is the pair store's folder; left out: PairStore::DefaultHome of A's workdir.
std::vector<Problem> Preflight(const PairSpec& spec);
std::vector<Problem> Preflight(const PairSpec& spec, const std::string& home);

// Starts the pair on a thread of its own and returns its id at once. Runs go on until done,
// cancelled, or the process ends; one Runner may run several pairs at once, and several processes
// may use one store. Thread-safe.
//
// Runs take place in the order A1 B1 A2 B2 ..., so that a machine that changes over time shows as
// a difference between repeats and not only between sides. B runs although A failed, as long as A
// captured something: two trainings that crash can be compared.
//
// Everything that Resume needs is in the pair's database, the environment of the spec included.
class Runner {
 public:
  explicit Runner(analysis::PairStore store);
  ~Runner();  // cancels everything and waits for the children's end (2 s, then SIGKILL)
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  [[nodiscard]] Result<std::string> Start(const PairSpec& spec);
  // Takes up an unfinished pair: finished runs are kept (failed and timed out ones too), a
  // cancelled or interrupted run starts again; its earlier folder is kept as <run>.interrupted.
  // Nothing is done for a pair that runs here or in another process, or that has no unfinished run.
  [[nodiscard]] Result<void> Resume(const std::string& pair_id);
  // Ends the children of a running pair: SIGTERM to all descendants, SIGKILL after 2 s. An empty id
  // stands for all that this Runner runs, Record included.
  void Cancel(const std::string& pair_id);
  // Waits until the pair is finished or `wait` passed, calling `progress` (may be null) at most
  // twice a second and at least every 10 s; returns early when it answers false.
  void Wait(const std::string& pair_id, std::chrono::milliseconds wait,
            const std::function<bool(const PairReport&)>& progress);
  // The state of any pair in the store, running here or not.
  [[nodiscard]] Result<PairReport> Report(const std::string& pair_id) const;
  // Records one run (side A only) of a command the way `perf record` does; output passes through.
  // Blocks until the command has ended; its status is in the report. `progress` (may be null) gets
  // lines while the capture library is built, before the command starts.
  [[nodiscard]] Result<PairReport> Record(
      const SideSpec& side, const PairSpec& options,
      const std::function<void(const std::string&)>& progress = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace opguard::runner
