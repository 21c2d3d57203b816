// Owners of SQLite handles, and the only door to sqlite3_* of the whole system.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "opguard/store/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace opguard::store::sqlite {

// A prepared statement. Parameters count from 1 and columns from 0, as in SQLite. Not thread-safe;
// must not outlive its database. Bind calls fail only for a parameter that does not exist, which
// the next Step() reports.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;

  void BindInt(int parameter, std::int64_t value);
  void BindReal(int parameter, double value);  // NaN is stored as NULL: SQLite has no NaN
  void BindNull(int parameter);
  // Kept by reference: `text` and `bytes` must stay as they are until the next Step() has returned
  // and Reset() was called.
  void BindText(int parameter, std::string_view text);
  void BindBlob(int parameter, std::string_view bytes);

  // True for a row, false at the end.
  [[nodiscard]] Result<bool> Step();
  // To run again; parameters are kept.
  void Reset();
  // Step() of a statement without rows, then Reset().
  [[nodiscard]] Result<void> Run();

  std::int64_t Int(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;  // also of a blob; "" for NULL
  bool IsNull(int column) const;

 private:
  sqlite3_stmt* handle_;
};

enum class Access { kRead, kReadWrite, kCreate };

// A connection. Movable between threads, for one at a time.
class Database {
 public:
  // Errors of this and all other calls: kNotFound (no such file), kNotATrace (not a database),
  // kCorrupt (damaged pages or schema), kTimeout (work limit), kIo (anything that the operating
  // system or another process refuses).
  [[nodiscard]] static Result<Database> Open(const std::string& path, Access access);
  [[nodiscard]] static Result<Database> OpenInMemory();
  // Closing never fails visibly; an open transaction is rolled back.
  ~Database();
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;

  // Runs statements, ignoring their rows.
  [[nodiscard]] Result<void> Execute(const std::string& statements) const;
  [[nodiscard]] Result<Statement> Prepare(std::string_view statement) const;

  // For files of strangers: no functions with side effects in their schema, no writable schema,
  // checks of every page that is read.
  [[nodiscard]] Result<void> BeDefensive() const;
  // Waits so long for another connection's lock.
  void SetBusyTimeout(int milliseconds) const;
  // Ends a statement with kTimeout after `instructions` * 1000 virtual machine instructions,
  // counted from this call; 0: no limit.
  void SetWorkLimit(std::int64_t instructions);

 private:
  explicit Database(sqlite3* handle) : handle_(handle) {}
  void Close();

  sqlite3* handle_ = nullptr;
  std::unique_ptr<std::int64_t> work_left_;  // at a stable address
};

}  // namespace opguard::store::sqlite
