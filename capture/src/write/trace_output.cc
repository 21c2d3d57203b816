#include "trace_output.h"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <utility>

namespace opguard::capture {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRound = std::chrono::milliseconds(100);
constexpr auto kCommitEvery = std::chrono::milliseconds(500);
constexpr auto kLongestWait = std::chrono::milliseconds(500);
// About 40 MB of rows, then 80 MB.
constexpr std::int64_t kWakeRows = 1 << 16, kMostRows = 1 << 19;

// The training's signals are for its own threads.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

TraceOutput::TraceOutput(std::string path, Hooks hooks)
    : path_(std::move(path)), hooks_(std::move(hooks)) {
  const BlockedSignals blocked;
  thread_ = std::thread([this] { Run(); });
}

TraceOutput::~TraceOutput() {
  if (thread_.joinable()) (void)Finish("incomplete");
}

bool TraceOutput::Admit(std::int64_t rows) {
  const std::int64_t waiting = waiting_rows_.fetch_add(rows, std::memory_order_relaxed) + rows;
  if (waiting < kWakeRows) return true;
  if (waiting - rows < kWakeRows || waiting >= kMostRows) wake_.notify_one();
  if (waiting < kMostRows) return true;
  std::unique_lock lock(mutex_);
  const bool room = done_.wait_for(lock, kLongestWait, [this] {
    return failed_ || waiting_rows_.load(std::memory_order_relaxed) < kMostRows;
  });
  if (!room) waiting_rows_.fetch_sub(rows, std::memory_order_relaxed);
  return room;
}

Result<void> TraceOutput::Flush() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = ++flushes_wanted_;
  wake_.notify_one();
  done_.wait(lock, [&] { return failed_ || flushes_done_ >= wanted; });
  if (failed_) return tl::unexpected<Error>(error_);
  return {};
}

Result<void> TraceOutput::Finish(const std::string& status) {
  {
    const std::lock_guard lock(mutex_);
    finish_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  if (failed_) {
    if (writer_) (void)writer_->Finish("disabled");
    writer_.reset();
    return tl::unexpected<Error>(error_);
  }
  if (status == "incomplete") {
    writer_.reset();
    return {};
  }
  return writer_->Finish(status);
}

void TraceOutput::Fail(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    error_ = error;
    failed_ = true;
    done_.notify_all();
  }
  hooks_.failed(error);
}

void TraceOutput::Run() {
  pthread_setname_np(pthread_self(), "opguard_writer");
  if (auto created = Create(); !created) return Fail(created.error());
  auto last_commit = Clock::now();
  for (bool last = false; !last && !failed_;) {
    std::uint64_t flushes = 0;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, kRound, [this] {
        return finish_ || flushes_wanted_ > flushes_done_ ||
               waiting_rows_.load(std::memory_order_relaxed) >= kWakeRows;
      });
      last = finish_;
      flushes = flushes_wanted_;
    }
    const bool flush = last || flushes > flushes_done_;
    const bool commit = flush || Clock::now() - last_commit >= kCommitEvery;
    if (!Round(commit)) return;
    if (commit) last_commit = Clock::now();
    if (flush) {
      const std::lock_guard lock(mutex_);
      flushes_done_ = flushes;
      done_.notify_all();
    }
  }
}

bool TraceOutput::Round(bool commit) {
  try {
    batch_.clear();
    const std::int64_t rows = hooks_.take(batch_);
    auto written = Write(batch_, commit);
    waiting_rows_.fetch_sub(rows, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex_);  // so that no waiter misses it
      done_.notify_all();
    }
    if (written) return true;
    Fail(written.error());
  } catch (const std::exception& error) {
    Fail({ErrorCode::kInternal, error.what(), {}, {}});
  }
  return false;
}

Result<void> TraceOutput::Create() {
  const std::lock_guard lock(in_sqlite_);
  OPGUARD_ASSIGN(writer_, store::TraceWriter::Create(path_));
  return {};
}

Result<void> TraceOutput::Write(const store::Batch& batch, bool commit) {
  const std::lock_guard lock(in_sqlite_);
  if (!batch.empty()) {
    OPGUARD_TRY(writer_->Append(batch));
    uncommitted_ = true;
  }
  if (commit && uncommitted_) {
    OPGUARD_TRY(writer_->Commit());
    uncommitted_ = false;
  }
  return {};
}

}  // namespace opguard::capture
