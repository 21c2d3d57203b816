#include "pair_database.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace opguard::analysis {
namespace {

constexpr std::int64_t kApplicationId = 0x4F504750;  // 'OPGP'
constexpr std::int64_t kVersion = 1;

constexpr char kSchema[] = R"(
PRAGMA application_id = 0x4F504750;
PRAGMA user_version = 1;
CREATE TABLE attribute(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE run(side INTEGER NOT NULL, repeat INTEGER NOT NULL, state INTEGER NOT NULL,
                 exit_code INTEGER, signal INTEGER NOT NULL, started_unix_ms INTEGER NOT NULL,
                 finished_unix_ms INTEGER NOT NULL, pid INTEGER NOT NULL,
                 directory TEXT NOT NULL, PRIMARY KEY(side, repeat)) WITHOUT ROWID;
-- Facts of trace files, as long as bytes and modified_ns are the file's.
CREATE TABLE trace_file(path TEXT PRIMARY KEY, bytes INTEGER NOT NULL,
                        modified_ns INTEGER NOT NULL, rank INTEGER NOT NULL,
                        auxiliary INTEGER NOT NULL, complete INTEGER NOT NULL,
                        started INTEGER NOT NULL, ops INTEGER NOT NULL,
                        tensors INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE alignment(rank INTEGER PRIMARY KEY, path_a TEXT NOT NULL, bytes_a INTEGER NOT NULL,
                       modified_ns_a INTEGER NOT NULL, path_b TEXT NOT NULL,
                       bytes_b INTEGER NOT NULL, modified_ns_b INTEGER NOT NULL,
                       rows INTEGER NOT NULL);
CREATE TABLE aligned_run(rank INTEGER NOT NULL, idx INTEGER NOT NULL, a INTEGER NOT NULL,
                         b INTEGER NOT NULL, count INTEGER NOT NULL, state INTEGER NOT NULL,
                         PRIMARY KEY(rank, idx)) WITHOUT ROWID;
CREATE TABLE answer(rank INTEGER NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
                    PRIMARY KEY(rank, key)) WITHOUT ROWID;
)";

Result<std::int64_t> Pragma(sql::Database& database, const std::string& name) {
  OPGUARD_ASSIGN(sql::Statement statement, database.Prepare("PRAGMA " + name));
  OPGUARD_ASSIGN(const bool has_row, statement.Step());
  return has_row ? statement.Int(0) : 0;
}

tl::unexpected<Error> Named(Error error, const std::string& path) {
  error.message = fmt::format("{}: {}", path, error.message);
  return tl::unexpected<Error>(std::move(error));
}

Result<void> Check(sql::Database& database) {
  OPGUARD_ASSIGN(const std::int64_t application, Pragma(database, "application_id"));
  if (application != kApplicationId) {
    return Fail(ErrorCode::kCorrupt, "this is not the database of a pair",
                "record the pair again with run_pair");
  }
  OPGUARD_ASSIGN(const std::int64_t version, Pragma(database, "user_version"));
  if (version > kVersion) {
    return Fail(
        ErrorCode::kUnsupportedVersion,
        fmt::format("the pair has format {}; this OpGuard reads up to {}", version, kVersion),
        "use the OpGuard that recorded it, or a newer one");
  }
  return {};
}

}  // namespace

Result<void> CreatePairDatabase(const std::string& path) {
  OPGUARD_ASSIGN(sql::Database database, sql::Database::Open(path, true));
  // The environment of a command may hold secrets. SQLite gives its journal the same mode.
  if (chmod(path.c_str(), 0600) != 0) {
    return Fail(ErrorCode::kIo, fmt::format("cannot write {}: {}", path, std::strerror(errno)),
                "make the folder writable");
  }
  return database.Execute(kSchema);
}

Result<sql::Database> OpenPairDatabase(const std::string& path) {
  auto database = sql::Database::Open(path, false);
  if (!database) return Named(database.error(), path);
  if (auto valid = Check(*database); !valid) return Named(valid.error(), path);
  return database;
}

Result<PairTransaction> PairTransaction::Begin(sql::Database& database) {
  // IMMEDIATE: a reader that turns writer later could not wait for another writer.
  OPGUARD_TRY(database.Execute("BEGIN IMMEDIATE"));
  return PairTransaction(database);
}

PairTransaction::PairTransaction(PairTransaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

PairTransaction::~PairTransaction() {
  if (database_ != nullptr) (void)database_->Execute("ROLLBACK");
}

Result<void> PairTransaction::Commit() {
  OPGUARD_TRY(database_->Execute("COMMIT"));
  database_ = nullptr;
  return {};
}

std::string Pair::Impl::Stored(const std::string& path) const {
  const std::string prefix = directory + "/";
  return path.rfind(prefix, 0) == 0 ? path.substr(prefix.size()) : path;
}

std::string Pair::Impl::Resolved(const std::string& stored) const {
  return stored.empty() || stored[0] == '/' ? stored : directory + "/" + stored;
}

Result<FileIdentity> IdentityOf(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    return Fail(ErrorCode::kNotFound, fmt::format("{}: {}", path, std::strerror(errno)),
                "record the pair again with run_pair");
  }
  constexpr std::int64_t kNs = 1'000'000'000;
  FileIdentity identity{path, status.st_size, status.st_mtim.tv_sec * kNs + status.st_mtim.tv_nsec};
  if (stat((path + "-wal").c_str(), &status) == 0) {
    identity.bytes += status.st_size;
    identity.modified_ns = std::max<std::int64_t>(
        identity.modified_ns,
        status.st_size ? status.st_mtim.tv_sec * kNs + status.st_mtim.tv_nsec : 0);
  }
  return identity;
}

}  // namespace opguard::analysis
