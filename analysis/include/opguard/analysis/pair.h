// The pair store: where pairs live on disk, what they are, and their finished alignments.
// Layout: <home>/pairs/<pair_id>/{pair.db, a.1/, b.1/ [, a.2/, b.2/]}; a run's folder holds its
// traces (rank<R>-<pid>.opguard), notes (note-<pid>.txt), stdout.log and stderr.log.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "opguard/analysis/alignment.h"
#include "opguard/store/result.h"

namespace opguard::analysis {

enum class RunState : std::uint8_t {
  kPlanned,
  kRunning,
  kComplete,
  kFailed,
  kCancelled,
  kTimedOut
};
const char* RunStateName(RunState state);

// One execution of one side.
struct RunInfo {
  Side side = Side::kA;
  std::uint32_t repeat = 1;  // 1-based
  RunState state = RunState::kPlanned;
  std::optional<int> exit_code;  // of the command; absent while running or if signalled
  int signal = 0;                // that ended it, 0 none
  std::int64_t started_unix_ms = 0, finished_unix_ms = 0;
  std::int64_t pid = 0;
  std::string directory;  // absolute: traces and logs
};

// One trace file of a run.
struct TraceFile {
  std::string path;
  std::uint32_t rank = 0;
  std::uint32_t ordinal = 0;  // 0 for the rank's main process, 1.. for helpers of that rank
  bool auxiliary = false, complete = false;
  std::int64_t ops = 0, tensors = 0, bytes = 0;
};

// A pair on disk. Movable; safe to open from several processes (SQLite locking); one object per
// thread. Attributes are free-form strings that the runner keeps (command, workdir, refs, ...).
class Pair {
 public:
  const std::string& id() const;
  const std::string& directory() const;  // absolute

  [[nodiscard]] Result<std::string> Attribute(const std::string& key) const;  // "" if unset
  [[nodiscard]] Result<void> SetAttribute(const std::string& key, const std::string& value);
  [[nodiscard]] Result<std::vector<RunInfo>> Runs() const;  // ordered by side, repeat
  [[nodiscard]] Result<void> SaveRun(const RunInfo& run);   // insert or replace
  // Takes the pair for running; kInvalidArgument naming the holder's pid while another live
  // process has it. Released by destruction of the returned lock or death of the process.
  class Lock;
  [[nodiscard]] Result<std::unique_ptr<Lock>> TryLock();
  // Process id of the holder of the lock, here or elsewhere; 0 while nobody holds it.
  std::int64_t LockHolder() const;

  // The traces of a run, ordered by rank, then ordinal: the file with most ops of a rank that is
  // not auxiliary has ordinal 0. Unreadable files are reported in `problems`.
  [[nodiscard]] Result<std::vector<TraceFile>> Traces(const RunInfo& run,
                                                      std::vector<std::string>* problems) const;

  // Alignments are kept per rank with the identity of the two trace files they came from (path,
  // size, modification time); Load answers kNotFound when they changed.
  [[nodiscard]] Result<void> SaveAlignment(std::uint32_t rank, const std::string& path_a,
                                           const std::string& path_b, const Alignment& alignment);
  [[nodiscard]] Result<Alignment> LoadAlignment(std::uint32_t rank, const std::string& path_a,
                                                const std::string& path_b) const;
  // Opaque answers cached beside the alignment under the same identity; saving an alignment
  // for a rank drops that rank's answers.
  [[nodiscard]] Result<void> SaveAnswer(std::uint32_t rank, const std::string& key,
                                        const std::string& text);
  [[nodiscard]] Result<std::string> LoadAnswer(std::uint32_t rank, const std::string& key,
                                               const std::string& path_a,
                                               const std::string& path_b) const;

  ~Pair();
  Pair(Pair&&) noexcept;
  Pair& operator=(Pair&&) noexcept;

  struct Impl;  // pair_database.h; for the pair store's own parts

 private:
  friend class PairStore;
  explicit Pair(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Holds a pair for running. May outlive the Pair; destructible from any thread.
class Pair::Lock {
 public:
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  friend class Pair;
  explicit Lock(int fd) : fd_(fd) {}
  int fd_;
};

class PairStore {
 public:
  // `home`: the .opguard folder; created on first write. See DefaultHome().
  explicit PairStore(std::string home);
  // $OPGUARD_HOME, or <workdir>/.opguard.
  static std::string DefaultHome(const std::string& workdir);

  const std::string& home() const { return home_; }
  // Makes a new pair with the next free id: "p1", "p2", ... (unique also between processes).
  [[nodiscard]] Result<Pair> Create(const std::string& label);
  // kNotFound lists the known pairs (nearest or newest five) in `valid`.
  [[nodiscard]] Result<Pair> Open(const std::string& pair_id) const;
  [[nodiscard]] Result<std::vector<std::string>> List() const;  // newest first

 private:
  std::string home_;
};

}  // namespace opguard::analysis
