// The little that the pair store needs of SQLite, over opguard_store's wrapper (pair_sqlite.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "opguard/store/result.h"

namespace opguard::analysis::sql {

// A prepared statement. Parameters and columns are numbered as in SQLite: from 1 and from 0.
// Not thread-safe; must not outlive its database.
class Statement {
 public:
  struct Impl;
  explicit Statement(std::unique_ptr<Impl> impl);
  ~Statement();
  Statement(Statement&&) noexcept;
  Statement& operator=(Statement&&) = delete;

  void BindInt(int parameter, std::int64_t value);
  void BindText(int parameter, const std::string& value);
  void BindNull(int parameter);
  // True for a row, false at the end.
  [[nodiscard]] Result<bool> Step();
  [[nodiscard]] Result<void> Reset();  // to run again; parameters are kept
  std::int64_t Int(int column) const;
  std::string Text(int column) const;
  bool IsNull(int column) const;

 private:
  std::unique_ptr<Impl> impl_;
};

// One connection, which waits up to ten seconds for another process's lock. Movable between
// threads, for one at a time. Errors of all calls: kCorrupt for damaged or foreign files, else kIo.
class Database {
 public:
  struct Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  // For reading and writing, for reading alone where the file system does not allow more; creates
  // the file if `create`.
  [[nodiscard]] static Result<Database> Open(const std::string& path, bool create);
  [[nodiscard]] Result<void> Execute(const std::string& statements);
  [[nodiscard]] Result<Statement> Prepare(const std::string& statement) const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace opguard::analysis::sql
