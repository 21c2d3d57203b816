#include <fmt/format.h>

#include "opguard/analysis/pair.h"
#include "pair_database.h"

namespace opguard::analysis {
namespace {

// More than any trace has; what a damaged database says must not be allocated.
constexpr std::int64_t kMostRows = 4'000'000'000;

tl::unexpected<Error> Stale(std::uint32_t rank) {
  return Fail(ErrorCode::kNotFound,
              fmt::format("no alignment of rank {} is stored for these traces", rank));
}

tl::unexpected<Error> Damaged(std::uint32_t rank) {
  return Fail(ErrorCode::kCorrupt, fmt::format("the stored alignment of rank {} is damaged", rank),
              "remove pair.db's alignment, or record the pair again");
}

// Rows of the alignment of these two files.
Result<std::int64_t> StoredRows(const Pair::Impl& impl, std::uint32_t rank,
                                const std::string& path_a, const std::string& path_b) {
  OPGUARD_ASSIGN(const FileIdentity a, IdentityOf(path_a));
  OPGUARD_ASSIGN(const FileIdentity b, IdentityOf(path_b));
  OPGUARD_ASSIGN(sql::Statement row,
                 impl.database.Prepare("SELECT path_a, bytes_a, modified_ns_a, path_b, bytes_b, "
                                       "modified_ns_b, rows FROM alignment WHERE rank = ?1"));
  row.BindInt(1, rank);
  OPGUARD_ASSIGN(const bool found, row.Step());
  if (!found) return Stale(rank);
  const FileIdentity stored_a{impl.Resolved(row.Text(0)), row.Int(1), row.Int(2)};
  const FileIdentity stored_b{impl.Resolved(row.Text(3)), row.Int(4), row.Int(5)};
  if (stored_a != a || stored_b != b) return Stale(rank);
  return row.Int(6);
}

Result<void> Delete(sql::Database& database, const char* table, std::uint32_t rank) {
  OPGUARD_ASSIGN(sql::Statement statement,
                 database.Prepare(fmt::format("DELETE FROM {} WHERE rank = ?1", table)));
  statement.BindInt(1, rank);
  OPGUARD_TRY(statement.Step());
  return {};
}

Result<void> InsertRuns(sql::Database& database, std::uint32_t rank,
                        const std::vector<AlignedRun>& runs) {
  OPGUARD_ASSIGN(sql::Statement statement,
                 database.Prepare("INSERT INTO aligned_run VALUES(?1, ?2, ?3, ?4, ?5, ?6)"));
  for (const AlignedRun& run : runs) {
    statement.BindInt(1, rank);
    statement.BindInt(2, static_cast<std::int64_t>(run.index));
    statement.BindInt(3, run.a);
    statement.BindInt(4, run.b);
    statement.BindInt(5, static_cast<std::int64_t>(run.count));
    statement.BindInt(6, static_cast<std::int64_t>(run.state));
    OPGUARD_TRY(statement.Step());
    OPGUARD_TRY(statement.Reset());
  }
  return {};
}

// False unless `row` continues `alignment` as a run can.
bool AppendRun(const sql::Statement& row, Alignment& alignment) {
  const std::int64_t a = row.Int(1), b = row.Int(2), count = row.Int(3), state = row.Int(4);
  const bool fits = row.Int(0) == static_cast<std::int64_t>(alignment.rows) && a >= -1 && b >= -1 &&
                    (a >= 0 || b >= 0) && count > 0 && a < kMostRows && b < kMostRows &&
                    count < kMostRows && state >= 0 &&
                    state <= static_cast<std::int64_t>(RowState::kOnlyB);
  if (!fits) return false;
  alignment.runs.push_back(
      {alignment.rows, a, b, static_cast<std::uint64_t>(count), static_cast<RowState>(state)});
  alignment.rows += static_cast<std::uint64_t>(count);
  return alignment.rows < static_cast<std::uint64_t>(kMostRows);
}

}  // namespace

Result<void> Pair::SaveAlignment(std::uint32_t rank, const std::string& path_a,
                                 const std::string& path_b, const Alignment& alignment) {
  OPGUARD_ASSIGN(const FileIdentity a, IdentityOf(path_a));
  OPGUARD_ASSIGN(const FileIdentity b, IdentityOf(path_b));
  sql::Database& database = impl_->database;
  OPGUARD_ASSIGN(PairTransaction transaction, PairTransaction::Begin(database));
  for (const char* table : {"answer", "aligned_run", "alignment"}) {
    OPGUARD_TRY(Delete(database, table, rank));
  }
  OPGUARD_ASSIGN(sql::Statement row, database.Prepare("INSERT INTO alignment VALUES"
                                                      "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  row.BindInt(1, rank);
  row.BindText(2, impl_->Stored(a.path));
  row.BindInt(3, a.bytes);
  row.BindInt(4, a.modified_ns);
  row.BindText(5, impl_->Stored(b.path));
  row.BindInt(6, b.bytes);
  row.BindInt(7, b.modified_ns);
  row.BindInt(8, static_cast<std::int64_t>(alignment.rows));
  OPGUARD_TRY(row.Step());
  OPGUARD_TRY(InsertRuns(database, rank, alignment.runs));
  return transaction.Commit();
}

Result<Alignment> Pair::LoadAlignment(std::uint32_t rank, const std::string& path_a,
                                      const std::string& path_b) const {
  // One snapshot, or a SaveAlignment in between would mix two alignments.
  OPGUARD_TRY(impl_->database.Execute("BEGIN"));
  const PairTransaction snapshot = PairTransaction::Adopt(impl_->database);
  OPGUARD_ASSIGN(const std::int64_t rows, StoredRows(*impl_, rank, path_a, path_b));
  OPGUARD_ASSIGN(sql::Statement row,
                 impl_->database.Prepare("SELECT idx, a, b, count, state FROM aligned_run "
                                         "WHERE rank = ?1 ORDER BY idx"));
  row.BindInt(1, rank);
  Alignment alignment;
  for (;;) {
    OPGUARD_ASSIGN(const bool found, row.Step());
    if (!found) break;
    if (!AppendRun(row, alignment)) return Damaged(rank);
  }
  if (rows != static_cast<std::int64_t>(alignment.rows)) return Damaged(rank);
  RestoreMatches(alignment);
  return alignment;
}

Result<void> Pair::SaveAnswer(std::uint32_t rank, const std::string& key, const std::string& text) {
  OPGUARD_ASSIGN(sql::Statement statement,
                 impl_->database.Prepare("INSERT OR REPLACE INTO answer SELECT rank, ?2, ?3 "
                                         "FROM alignment WHERE rank = ?1 RETURNING rank"));
  statement.BindInt(1, rank);
  statement.BindText(2, key);
  statement.BindText(3, text);
  OPGUARD_ASSIGN(const bool saved, statement.Step());
  if (!saved) return Stale(rank);
  OPGUARD_TRY(statement.Step());
  return {};
}

Result<std::string> Pair::LoadAnswer(std::uint32_t rank, const std::string& key,
                                     const std::string& path_a, const std::string& path_b) const {
  OPGUARD_TRY(StoredRows(*impl_, rank, path_a, path_b));
  OPGUARD_ASSIGN(sql::Statement statement,
                 impl_->database.Prepare("SELECT text FROM answer WHERE rank = ?1 AND key = ?2"));
  statement.BindInt(1, rank);
  statement.BindText(2, key);
  OPGUARD_ASSIGN(const bool found, statement.Step());
  if (!found) return Stale(rank);
  return statement.Text(0);
}

}  // namespace opguard::analysis
