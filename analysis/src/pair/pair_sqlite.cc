#include "pair_sqlite.h"

#include <map>
#include <string>
#include <utility>

#include "opguard/store/sqlite.h"

namespace opguard::analysis::sql {
namespace {

namespace sqlite = store::sqlite;
constexpr int kBusyMilliseconds = 10000;

Error AsPairError(Error error) {
  if (error.code == ErrorCode::kNotATrace) error.code = ErrorCode::kCorrupt;
  if (error.code != ErrorCode::kCorrupt) error.code = ErrorCode::kIo;
  return error;
}

template <typename T>
Result<T> OfPair(Result<T> result) {
  if (!result) return tl::unexpected<Error>(AsPairError(std::move(result.error())));
  return result;
}

}  // namespace

struct Statement::Impl {
  sqlite::Statement statement;
  std::map<int, std::string> texts;  // bound ones, which the statement refers to
};

Statement::Statement(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Statement::~Statement() = default;
Statement::Statement(Statement&&) noexcept = default;

void Statement::BindInt(int parameter, std::int64_t value) {
  impl_->statement.BindInt(parameter, value);
}
void Statement::BindText(int parameter, const std::string& value) {
  std::string& kept = impl_->texts[parameter] = value;
  impl_->statement.BindText(parameter, kept);
}
void Statement::BindNull(int parameter) { impl_->statement.BindNull(parameter); }
Result<bool> Statement::Step() { return OfPair(impl_->statement.Step()); }
Result<void> Statement::Reset() {
  impl_->statement.Reset();
  return {};
}
std::int64_t Statement::Int(int column) const { return impl_->statement.Int(column); }
std::string Statement::Text(int column) const { return impl_->statement.Text(column); }
bool Statement::IsNull(int column) const { return impl_->statement.IsNull(column); }

struct Database::Impl {
  sqlite::Database database;
};

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

Result<Database> Database::Open(const std::string& path, bool create) {
  auto opened =
      sqlite::Database::Open(path, create ? sqlite::Access::kCreate : sqlite::Access::kReadWrite);
  if (!opened && !create) opened = sqlite::Database::Open(path, sqlite::Access::kRead);
  if (!opened) return tl::unexpected<Error>(AsPairError(std::move(opened.error())));
  opened->SetBusyTimeout(kBusyMilliseconds);
  return Database(std::make_unique<Impl>(Impl{std::move(*opened)}));
}

Result<void> Database::Execute(const std::string& statements) {
  return OfPair(impl_->database.Execute(statements));
}

Result<Statement> Database::Prepare(const std::string& statement) const {
  auto prepared = OfPair(impl_->database.Prepare(statement));
  if (!prepared) return tl::unexpected<Error>(std::move(prepared.error()));
  return Statement(std::make_unique<Statement::Impl>(Statement::Impl{std::move(*prepared), {}}));
}

}  // namespace opguard::analysis::sql
