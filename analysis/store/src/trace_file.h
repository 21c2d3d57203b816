// Opens a trace of a stranger, whatever state its writer left it in.
#pragma once

#include <memory>
#include <string>

#include "opguard/store/sqlite.h"

namespace opguard::store {

// A copy for reading where the original cannot be read in its place; deleted with the object.
class TemporaryCopy {
 public:
  TemporaryCopy(TemporaryCopy&&) = delete;
  ~TemporaryCopy();
  // Copies `path` and its write-ahead log.
  [[nodiscard]] static Result<std::unique_ptr<TemporaryCopy>> Of(const std::string& path);
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryCopy(std::string folder);
  std::string folder_, path_;
};

struct TraceFile {
  std::unique_ptr<TemporaryCopy> copy;  // outlives the database
  sqlite::Database database;
};

// Read-only and checked: application id, version, and that its tables are declared exactly as in
// schemas/trace.sql, so that no view, trigger or virtual table of the file can run. Errors as
// TraceReader::Open.
[[nodiscard]] Result<TraceFile> OpenTrace(const std::string& path);

// `error` with the trace's path in front and, for a damaged or foreign file, the usual fix.
Error AtTrace(Error error, const std::string& path);

}  // namespace opguard::store
