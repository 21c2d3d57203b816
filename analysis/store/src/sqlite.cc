#include "opguard/store/sqlite.h"

#include <sqlite3.h>

#include <utility>

namespace opguard::store::sqlite {
namespace {

ErrorCode CodeOf(int status) {
  switch (status & 0xff) {
    case SQLITE_NOTADB:
      return ErrorCode::kNotATrace;
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
    case SQLITE_ERROR:  // the schema lacks what a statement of ours names
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return ErrorCode::kCorrupt;
    case SQLITE_INTERRUPT:
      return ErrorCode::kTimeout;
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
    case SQLITE_CONSTRAINT:
      return ErrorCode::kInternal;
    default:
      return ErrorCode::kIo;
  }
}

const char* FixOf(int status) {
  switch (status & 0xff) {
    case SQLITE_FULL:
      return "free some disk space";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "wait until the process that writes the file has ended";
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return "check that the folder exists and is writable";
    case SQLITE_INTERRUPT:
      return "ask for less at once";
    default:
      return "";
  }
}

tl::unexpected<Error> Failed(sqlite3* database, int status) {
  std::string message = "SQLite: ";
  message += database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(status);
  return Fail(CodeOf(status), std::move(message), FixOf(status));
}

int CountWork(void* left) {
  auto& rounds = *static_cast<std::int64_t*>(left);
  return --rounds < 0 ? 1 : 0;
}

}  // namespace

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement::Statement(Statement&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

void Statement::BindInt(int parameter, std::int64_t value) {
  sqlite3_bind_int64(handle_, parameter, value);
}
void Statement::BindReal(int parameter, double value) {
  sqlite3_bind_double(handle_, parameter, value);
}
void Statement::BindNull(int parameter) { sqlite3_bind_null(handle_, parameter); }
void Statement::BindText(int parameter, std::string_view text) {
  // A null pointer would bind NULL.
  sqlite3_bind_text64(handle_, parameter, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
}
void Statement::BindBlob(int parameter, std::string_view bytes) {
  sqlite3_bind_blob64(handle_, parameter, bytes.data() == nullptr ? "" : bytes.data(), bytes.size(),
                      SQLITE_STATIC);
}

Result<bool> Statement::Step() {
  const int status = sqlite3_step(handle_);
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  auto failure = Failed(sqlite3_db_handle(handle_), status);
  sqlite3_reset(handle_);
  return failure;
}

void Statement::Reset() { sqlite3_reset(handle_); }

Result<void> Statement::Run() {
  OPGUARD_TRY(Step());
  Reset();
  return {};
}

std::int64_t Statement::Int(int column) const { return sqlite3_column_int64(handle_, column); }
double Statement::Real(int column) const { return sqlite3_column_double(handle_, column); }
std::string Statement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_, column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}
bool Statement::IsNull(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

Result<Database> Database::Open(const std::string& path, Access access) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= access == Access::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (access == Access::kCreate) flags |= SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  Database database(handle);  // SQLite gives a handle to be closed even where opening fails
  if (status != SQLITE_OK) return Failed(handle, status);
  return database;
}

Result<Database> Database::OpenInMemory() { return Open(":memory:", Access::kCreate); }

Database::~Database() { Close(); }

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), work_left_(std::move(other.work_left_)) {}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(work_left_, other.work_left_);
  return *this;
}

void Database::Close() { sqlite3_close_v2(std::exchange(handle_, nullptr)); }

Result<void> Database::Execute(const std::string& statements) const {
  const int status = sqlite3_exec(handle_, statements.c_str(), nullptr, nullptr, nullptr);
  if (status != SQLITE_OK) return Failed(handle_, status);
  return {};
}

Result<Statement> Database::Prepare(std::string_view statement) const {
  sqlite3_stmt* prepared = nullptr;
  const int status =
      sqlite3_prepare_v3(handle_, statement.data(), static_cast<int>(statement.size()),
                         SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (status != SQLITE_OK) return Failed(handle_, status);
  return Statement(prepared);
}

Result<void> Database::BeDefensive() const {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  return Execute("PRAGMA cell_size_check=ON");
}

void Database::SetBusyTimeout(int milliseconds) const {
  sqlite3_busy_timeout(handle_, milliseconds);
}

void Database::SetWorkLimit(std::int64_t instructions) {
  if (instructions <= 0) {
    sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
    return;
  }
  if (!work_left_) work_left_ = std::make_unique<std::int64_t>();
  *work_left_ = instructions;
  sqlite3_progress_handler(handle_, 1000, CountWork, work_left_.get());
}

}  // namespace opguard::store::sqlite
