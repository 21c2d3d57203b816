#include "opguard/analysis/pair.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "pair_database.h"

namespace opguard::analysis {
namespace {

constexpr std::array<const char*, 6> kRunStates{"planned", "running",   "complete",
                                                "failed",  "cancelled", "timed_out"};

RunInfo ReadRun(const sql::Statement& row) {
  RunInfo run;
  run.side = row.Int(0) == 0 ? Side::kA : Side::kB;
  run.repeat = static_cast<std::uint32_t>(row.Int(1));
  const std::int64_t state = row.Int(2);
  run.state = state >= 0 && state < static_cast<std::int64_t>(kRunStates.size())
                  ? static_cast<RunState>(state)
                  : RunState::kFailed;
  if (!row.IsNull(3)) run.exit_code = static_cast<int>(row.Int(3));
  run.signal = static_cast<int>(row.Int(4));
  run.started_unix_ms = row.Int(5);
  run.finished_unix_ms = row.Int(6);
  run.pid = row.Int(7);
  return run;
}

std::int64_t ReadHolder(int fd) {
  std::array<char, 32> text{};
  return pread(fd, text.data(), text.size() - 1, 0) > 0 ? std::atoll(text.data()) : 0;
}

}  // namespace

const char* RunStateName(RunState state) { return kRunStates.at(static_cast<std::size_t>(state)); }

Pair::Pair(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pair::~Pair() = default;
Pair::Pair(Pair&&) noexcept = default;
Pair& Pair::operator=(Pair&&) noexcept = default;

const std::string& Pair::id() const { return impl_->id; }
const std::string& Pair::directory() const { return impl_->directory; }

Result<std::string> Pair::Attribute(const std::string& key) const {
  OPGUARD_ASSIGN(sql::Statement statement,
                 impl_->database.Prepare("SELECT value FROM attribute WHERE key = ?1"));
  statement.BindText(1, key);
  OPGUARD_ASSIGN(const bool found, statement.Step());
  return found ? statement.Text(0) : std::string{};
}

Result<void> Pair::SetAttribute(const std::string& key, const std::string& value) {
  OPGUARD_ASSIGN(sql::Statement statement,
                 impl_->database.Prepare("INSERT OR REPLACE INTO attribute VALUES(?1, ?2)"));
  statement.BindText(1, key);
  statement.BindText(2, value);
  OPGUARD_TRY(statement.Step());
  return {};
}

Result<std::vector<RunInfo>> Pair::Runs() const {
  OPGUARD_ASSIGN(sql::Statement statement,
                 impl_->database.Prepare("SELECT side, repeat, state, exit_code, signal, "
                                         "started_unix_ms, finished_unix_ms, pid, directory "
                                         "FROM run ORDER BY side, repeat"));
  std::vector<RunInfo> runs;
  for (;;) {
    OPGUARD_ASSIGN(const bool found, statement.Step());
    if (!found) return runs;
    runs.push_back(ReadRun(statement));
    runs.back().directory = impl_->Resolved(statement.Text(8));
  }
}

Result<void> Pair::SaveRun(const RunInfo& run) {
  OPGUARD_ASSIGN(sql::Statement statement,
                 impl_->database.Prepare("INSERT OR REPLACE INTO run VALUES"
                                         "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"));
  statement.BindInt(1, static_cast<std::int64_t>(run.side));
  statement.BindInt(2, run.repeat);
  statement.BindInt(3, static_cast<std::int64_t>(run.state));
  if (run.exit_code) {
    statement.BindInt(4, *run.exit_code);
  } else {
    statement.BindNull(4);
  }
  statement.BindInt(5, run.signal);
  statement.BindInt(6, run.started_unix_ms);
  statement.BindInt(7, run.finished_unix_ms);
  statement.BindInt(8, run.pid);
  statement.BindText(9, impl_->Stored(run.directory));
  OPGUARD_TRY(statement.Step());
  return {};
}

Pair::Lock::~Lock() { close(fd_); }

Result<std::unique_ptr<Pair::Lock>> Pair::TryLock() {
  const std::string path = impl_->directory + "/lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return Fail(ErrorCode::kIo, fmt::format("cannot write {}: {}", path, std::strerror(errno)),
                "make the pair's folder writable");
  }
  std::unique_ptr<Lock> lock(new Lock(fd));
  // LockHolder() of another process takes the lock for a moment.
  for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (tries < 10 && errno != EINTR) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("pair {} is being run by process {}", impl_->id, ReadHolder(fd)),
                "wait for it, or end that process");
  }
  const std::string text = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return Fail(ErrorCode::kIo, fmt::format("cannot write {}: {}", path, std::strerror(errno)),
                "free some disk space");
  }
  return lock;
}

std::int64_t Pair::LockHolder() const {
  const std::string path = impl_->directory + "/lock";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const bool is_held = flock(fd, LOCK_SH | LOCK_NB) != 0;
  const std::int64_t holder = is_held ? std::max<std::int64_t>(ReadHolder(fd), 1) : 0;
  close(fd);
  return holder;
}

}  // namespace opguard::analysis
