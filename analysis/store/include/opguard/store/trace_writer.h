// Writes one trace database. The counterpart is trace_reader.h; the format is schemas/trace.sql.
#pragma once

#include <memory>
#include <string>

#include "opguard/store/records.h"
#include "opguard/store/result.h"

namespace opguard::store {

// Not thread-safe: one thread owns a writer. The file is marked `incomplete` from its creation and
// `complete` only by Finish(). A writer that is destroyed without Finish() leaves every committed
// batch readable and the trace marked `incomplete`.
class TraceWriter {
 public:
  // Creates `path` (its folder must exist; an existing file is an error, kIo) with the schema.
  [[nodiscard]] static Result<std::unique_ptr<TraceWriter>> Create(const std::string& path);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Inserts the rows inside the open transaction (begun on demand).
  // Errors: kIo (disk full, file gone); the rows committed before stay readable.
  [[nodiscard]] Result<void> Append(const Batch& batch);
  // Commits what was appended. Callers commit at least once a second.
  [[nodiscard]] Result<void> Commit();
  // Commits, sets trace.status to `status` ("complete" or "disabled"), folds the WAL into the main
  // file and closes. No other call may follow.
  [[nodiscard]] Result<void> Finish(const std::string& status = "complete");

 private:
  struct Impl;
  explicit TraceWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace opguard::store
