// The background thread that writes one trace file.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "opguard/store/records.h"
#include "opguard/store/trace_writer.h"

namespace opguard::capture {

// Creates the file on its own thread and commits at least once a second. Thread-safe.
class TraceOutput {
 public:
  struct Hooks {
    // Fills an empty batch with all rows that wait, and returns how many ops and tensors they are.
    std::function<std::int64_t(store::Batch&)> take;
    // Called once, on the writer's thread, when the file cannot be created or written.
    std::function<void(const Error&)> failed;
  };
  TraceOutput(std::string path, Hooks hooks);
  ~TraceOutput();
  TraceOutput(const TraceOutput&) = delete;
  TraceOutput& operator=(const TraceOutput&) = delete;

  // Accounts for `rows` that wait to be taken. If too many do, waits for the writer, for half a
  // second at most. Returns false if the caller must drop its rows.
  bool Admit(std::int64_t rows);
  // Returns once everything recorded before the call is committed. kIo if writing failed.
  [[nodiscard]] Result<void> Flush();
  // Writes the rest, marks the trace with `status`, ends the thread.
  [[nodiscard]] Result<void> Finish(const std::string& status);
  // Keeps the thread out of SQLite while the process forks: a lock of SQLite's that it held then
  // would be held in the child for ever.
  void BeforeFork() { in_sqlite_.lock(); }
  void AfterForkInParent() { in_sqlite_.unlock(); }

 private:
  void Run();
  [[nodiscard]] Result<void> Create();
  bool Round(bool commit);
  [[nodiscard]] Result<void> Write(const store::Batch& batch, bool commit);
  void Fail(const Error& error);

  const std::string path_;
  const Hooks hooks_;
  std::atomic<std::int64_t> waiting_rows_ = 0;
  std::atomic<bool> failed_ = false;

  std::mutex in_sqlite_;  // taken before mutex_
  std::mutex mutex_;      // guards what follows
  std::condition_variable wake_, done_;
  bool finish_ = false;
  std::uint64_t flushes_wanted_ = 0, flushes_done_ = 0;
  Error error_;

  std::unique_ptr<store::TraceWriter> writer_;  // of the thread only
  store::Batch batch_;
  bool uncommitted_ = false;
  std::thread thread_;
};

}  // namespace opguard::capture
