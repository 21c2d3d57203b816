// pair.db: opening, schema and versions; what the parts of the pair store share.
#pragma once

#include <string>

#include "opguard/analysis/pair.h"
#include "pair_sqlite.h"

namespace opguard::analysis {

// Creates `path` with the schema. kIo if that fails.
[[nodiscard]] Result<void> CreatePairDatabase(const std::string& path);

// Opens for reading and writing (for reading alone where the folder does not allow more).
// kCorrupt: not a pair database; kUnsupportedVersion: of a newer OpGuard.
[[nodiscard]] Result<sql::Database> OpenPairDatabase(const std::string& path);

// A write transaction; rolled back unless committed.
class PairTransaction {
 public:
  [[nodiscard]] static Result<PairTransaction> Begin(sql::Database& database);
  // For a transaction that is open already.
  static PairTransaction Adopt(sql::Database& database) { return PairTransaction(database); }
  ~PairTransaction();
  PairTransaction(PairTransaction&& other) noexcept;
  PairTransaction& operator=(PairTransaction&&) = delete;
  [[nodiscard]] Result<void> Commit();

 private:
  explicit PairTransaction(sql::Database& database) : database_(&database) {}
  sql::Database* database_;
};

struct Pair::Impl {
  Impl(std::string pair_id, std::string folder, sql::Database opened)
      : id(std::move(pair_id)), directory(std::move(folder)), database(std::move(opened)) {}
  // Paths inside the pair's folder are kept relative, so that the folder can be moved.
  std::string Stored(const std::string& path) const;
  std::string Resolved(const std::string& stored) const;

  std::string id, directory;
  sql::Database database;
};

// What tells whether a file is still the one that something was derived from.
struct FileIdentity {
  std::string path;
  std::int64_t bytes = 0, modified_ns = 0;  // a write-ahead log beside the file counts in
  bool operator==(const FileIdentity&) const = default;
};
// kNotFound if there is no such file.
[[nodiscard]] Result<FileIdentity> IdentityOf(const std::string& path);

}  // namespace opguard::analysis
