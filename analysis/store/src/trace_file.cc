#include "trace_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "trace_schema.h"

namespace opguard::store {
namespace {

namespace fs = std::filesystem;
using sqlite::Access;
using sqlite::Database;
using sqlite::Statement;

constexpr std::int64_t kApplicationId = 0x4F504744, kVersion = 1;

Result<std::int64_t> Pragma(const Database& database, const char* name) {
  OPGUARD_ASSIGN(Statement statement, database.Prepare(std::string("PRAGMA ") + name));
  OPGUARD_ASSIGN(const bool has_row, statement.Step());
  return has_row ? statement.Int(0) : 0;
}

Result<std::map<std::string, std::string>> Tables(const Database& database) {
  OPGUARD_ASSIGN(Statement statement,
                 database.Prepare("SELECT name, sql FROM sqlite_schema WHERE type='table'"));
  std::map<std::string, std::string> tables;
  for (;;) {
    OPGUARD_ASSIGN(const bool has_row, statement.Step());
    if (!has_row) return tables;
    tables.emplace(statement.Text(0), statement.Text(1));
  }
}

Result<void> CheckTables(const Database& database) {
  OPGUARD_ASSIGN(const Database fresh, Database::OpenInMemory());
  OPGUARD_TRY(fresh.Execute(kTraceSchema));
  OPGUARD_ASSIGN(const auto expected, Tables(fresh));
  OPGUARD_ASSIGN(const auto found, Tables(database));
  for (const auto& [name, sql] : expected) {
    const auto table = found.find(name);
    if (table == found.end() || table->second != sql) {
      return Fail(ErrorCode::kCorrupt, "table " + name + " is not declared as in format 1",
                  "record the run again");
    }
  }
  return {};
}

Result<void> CheckIdentity(const Database& database) {
  OPGUARD_ASSIGN(const std::int64_t application, Pragma(database, "application_id"));
  if (application != kApplicationId) {
    return Fail(ErrorCode::kNotATrace, "an SQLite database, but not an OpGuard trace",
                "give the path of a .opguard file that OpGuard wrote");
  }
  OPGUARD_ASSIGN(const std::int64_t version, Pragma(database, "user_version"));
  if (version != kVersion) {
    return Fail(ErrorCode::kUnsupportedVersion,
                "the trace has format " + std::to_string(version) + ", this program reads format " +
                    std::to_string(kVersion),
                version > kVersion ? "use the OpGuard that recorded it, or a newer one"
                                   : "record the run again");
  }
  return CheckTables(database);
}

Result<Database> OpenChecked(const std::string& path) {
  OPGUARD_ASSIGN(Database database, Database::Open(path, Access::kRead));
  database.SetBusyTimeout(200);
  OPGUARD_TRY(database.BeDefensive());
  OPGUARD_TRY(database.Execute("PRAGMA mmap_size=1073741824; PRAGMA cache_size=-16384"));
  OPGUARD_TRY(CheckIdentity(database));
  return database;
}

// A regular file that starts as SQLite's files do; an empty one has no page yet.
Result<void> CheckKind(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    return Fail(absent ? ErrorCode::kNotFound : ErrorCode::kIo,
                absent ? "there is no such file" : std::strerror(errno),
                absent ? "check the path" : "check the permissions of the file and its folder");
  }
  if (!S_ISREG(status.st_mode)) {
    return Fail(ErrorCode::kNotATrace, "not a file", "give the path of a .opguard file");
  }
  if (access(path.c_str(), R_OK) != 0) {
    return Fail(ErrorCode::kIo, std::strerror(errno), "make the file readable");
  }
  if (status.st_size == 0) {
    return Fail(ErrorCode::kCorrupt, "the file is empty", "record the run again");
  }
  return {};
}

}  // namespace

Error AtTrace(Error error, const std::string& path) {
  error.message = path + ": " + error.message;
  if (error.fix.empty() && error.code == ErrorCode::kCorrupt) error.fix = "record the run again";
  if (error.fix.empty() && error.code == ErrorCode::kNotATrace) {
    error.fix = "give the path of a .opguard file that OpGuard wrote";
  }
  return error;
}

TemporaryCopy::TemporaryCopy(std::string folder)
    : folder_(std::move(folder)), path_(folder_ + "/trace.opguard") {}

TemporaryCopy::~TemporaryCopy() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

Result<std::unique_ptr<TemporaryCopy>> TemporaryCopy::Of(const std::string& path) {
  std::error_code error;
  std::string folder = (fs::temp_directory_path(error) / "opguard-XXXXXX").string();
  if (error || mkdtemp(folder.data()) == nullptr) {
    return Fail(ErrorCode::kIo, "no temporary folder to recover the trace in",
                "set TMPDIR to a writable folder");
  }
  std::unique_ptr<TemporaryCopy> copy(new TemporaryCopy(std::move(folder)));
  fs::copy_file(path, copy->path(), error);
  if (!error && fs::exists(path + "-wal"))
    fs::copy_file(path + "-wal", copy->path() + "-wal", error);
  if (error) {
    return Fail(ErrorCode::kIo, "cannot copy the trace to recover it: " + error.message(),
                "free some space in TMPDIR, or make the trace's folder writable");
  }
  return copy;
}

Result<TraceFile> OpenTrace(const std::string& path) {
  if (auto kind = CheckKind(path); !kind) return tl::unexpected<Error>(AtTrace(kind.error(), path));
  auto database = OpenChecked(path);
  if (database) return TraceFile{nullptr, std::move(*database)};
  // SQLite needs to write beside the file to read what a killed writer left in its log.
  const bool can_recover = database.error().code == ErrorCode::kIo &&
                           access((path + "-wal").c_str(), R_OK) == 0 &&
                           access(fs::absolute(path).parent_path().c_str(), W_OK) != 0;
  if (!can_recover) return tl::unexpected<Error>(AtTrace(database.error(), path));
  auto copy = TemporaryCopy::Of(path);
  if (!copy) return tl::unexpected<Error>(AtTrace(copy.error(), path));
  database = OpenChecked((*copy)->path());
  if (!database) return tl::unexpected<Error>(AtTrace(database.error(), path));
  return TraceFile{std::move(*copy), std::move(*database)};
}

}  // namespace opguard::store
