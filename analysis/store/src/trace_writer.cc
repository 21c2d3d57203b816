#include "opguard/store/trace_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "compression.h"
#include "opguard/store/sqlite.h"
#include "trace_schema.h"

namespace opguard::store {
namespace {

using sqlite::Database;
using sqlite::Statement;

// A killed process leaves the committed prefix (WAL), a killed machine may lose it (synchronous
// OFF): a trace is not worth the training's time. Exclusive locking needs no shared-memory file.
constexpr char kPragmas[] =
    "PRAGMA page_size=16384; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=2000; PRAGMA temp_store=MEMORY;"
    "PRAGMA cache_size=-16384;";

// Values of rows, one row after the other, in the order of the columns.
class RowBinder {
 public:
  explicit RowBinder(Statement& statement) : statement_(statement) {}
  RowBinder& operator<<(std::int64_t value) {
    statement_.BindInt(++parameter_, value);
    return *this;
  }
  RowBinder& operator<<(std::int32_t value) { return *this << std::int64_t{value}; }
  RowBinder& operator<<(std::uint32_t value) { return *this << std::int64_t{value}; }
  // SQLite's integers are signed; the bits are kept.
  RowBinder& operator<<(std::uint64_t value) { return *this << static_cast<std::int64_t>(value); }
  RowBinder& operator<<(const std::string& text) {
    statement_.BindText(++parameter_, text);
    return *this;
  }
  RowBinder& operator<<(const std::optional<double>& value) {
    ++parameter_;
    value ? statement_.BindReal(parameter_, *value) : statement_.BindNull(parameter_);
    return *this;
  }
  RowBinder& Null() {
    statement_.BindNull(++parameter_);
    return *this;
  }
  RowBinder& Blob(const std::string& bytes) {
    statement_.BindBlob(++parameter_, bytes);
    return *this;
  }

 private:
  Statement& statement_;
  int parameter_ = 0;
};

void Bind(RowBinder& row, const LaneRow& r) { row << r.id << r.name; }
void Bind(RowBinder& row, const SchemaRow& r) {
  row << r.id << r.name << r.overload << r.signature << r.traits;
}
void Bind(RowBinder& row, const TextRow& r) { row << r.id << r.text; }
void Bind(RowBinder& row, const SlotRow& r) { row << r.id << r.role << r.position << r.item; }
void Bind(RowBinder& row, const GeometryRow& r) {
  row << r.id << r.dtype << r.device << r.sizes << r.strides << r.storage_offset << r.layout;
}
void Bind(RowBinder& row, const ModuleRow& r) { row << r.id << r.name << r.class_name; }
void Bind(RowBinder& row, const FrameRow& r) {
  row << r.id << r.path << r.line << r.function << r.source;
}
void Bind(RowBinder& row, const StackRow& r) { row << r.id << r.parent << r.frame; }
void Bind(RowBinder& row, const StepRow& r) { row << r.id << r.first_op; }
void Bind(RowBinder& row, const NodeRow& r) { row << r.id << r.name << r.forward_op; }
void Bind(RowBinder& row, const StorageRow& r) {
  row << r.id << r.bytes << r.first_op << r.alias_of;
}
void Bind(RowBinder& row, const OpRow& r) {
  row << r.id << r.lane << static_cast<std::int64_t>(r.phase) << r.schema << r.arguments << r.module
      << r.stack << r.node << r.inside << r.parent << r.first_tensor << r.tensors << r.flags;
}
void Bind(RowBinder& row, const TensorRow& r) {
  row << r.id << r.op << r.slot << r.geometry << r.storage << static_cast<std::int64_t>(r.state);
  if (r.has_fingerprint) {
    row << r.fingerprint << r.unordered;
  } else {
    row.Null().Null();
  }
}
void Bind(RowBinder& row, const StatisticRow& r) {
  row << r.tensor << r.nans << r.infs << r.zeros << r.minimum << r.maximum;
}
void Bind(RowBinder& row, const RngRow& r) {
  row << r.op << r.generator << r.seed << r.state_before << r.state_after;
}
void Bind(RowBinder& row, const GapRow& r) {
  row << r.id << r.first_step << r.last_step << r.reason;
}
void Bind(RowBinder& row, const NoteRow& r) { row << r.id << r.op << r.code << r.text; }
void Bind(RowBinder& row, const KeyValue& r) { row << r.key << r.value; }

Error At(Error error, const std::string& path) {
  error.message = path + ": " + error.message;
  return error;
}

}  // namespace

struct TraceWriter::Impl {
  Impl(std::string file, Database opened) : path(std::move(file)), database(std::move(opened)) {}

  std::string path;
  Database database;
  bool in_transaction = false;
  std::int64_t ops = 0, tensors = 0;
  // Prepared on first use; destroyed before the database.
  std::map<std::pair<const char*, std::size_t>, Statement> statements;

  // `head` followed by `values` for each of `rows` rows.
  Result<Statement*> Prepared(const char* head, const char* values, std::size_t rows) {
    const auto known = statements.find({head, rows});
    if (known != statements.end()) return &known->second;
    std::string sql = head;
    for (std::size_t row = 0; row < rows; ++row) (sql += row == 0 ? "" : ",") += values;
    OPGUARD_ASSIGN(Statement statement, database.Prepare(sql));
    return &statements.emplace(std::pair(head, rows), std::move(statement)).first->second;
  }

  template <typename Row>
  Result<void> Insert(const char* head, const char* values, const std::vector<Row>& rows) {
    // A statement costs as much as several rows (2.1 against 1.5 million tensor rows a second).
    constexpr std::size_t kRowsAStatement = 32;
    for (std::size_t first = 0; first < rows.size();) {
      const std::size_t count = rows.size() - first < kRowsAStatement ? 1 : kRowsAStatement;
      OPGUARD_ASSIGN(Statement* const statement, Prepared(head, values, count));
      RowBinder binder(*statement);
      for (const std::size_t end = first + count; first < end; ++first) Bind(binder, rows[first]);
      OPGUARD_TRY(statement->Run());
    }
    return {};
  }

  Result<void> InsertSources(const std::vector<SourceRow>& rows) {
    if (rows.empty()) return {};
    OPGUARD_ASSIGN(Statement* const statement,
                   Prepared("INSERT INTO source VALUES", "(?,?,?,?,?)", 1));
    for (const SourceRow& row : rows) {
      RowBinder binder(*statement);
      binder << row.id << row.path << row.sha256 << row.bytes;
      const std::string packed =
          row.text.empty() || row.text.size() > kMaxText ? std::string{} : Compress(row.text);
      packed.empty() ? binder.Null() : binder.Blob(packed);
      OPGUARD_TRY(statement->Run());
    }
    return {};
  }

  Result<void> Begin() {
    if (in_transaction) return {};
    OPGUARD_TRY(database.Execute("BEGIN"));
    in_transaction = true;
    return {};
  }

  Result<void> Commit() {
    if (!in_transaction) return {};
    in_transaction = false;
    auto committed = database.Execute("COMMIT");
    if (!committed) (void)database.Execute("ROLLBACK");
    return committed;
  }

  Result<void> Append(const Batch& batch);
  Result<void> Finish(const std::string& status);
};

Result<void> TraceWriter::Impl::Append(const Batch& batch) {
  OPGUARD_TRY(Begin());
  OPGUARD_TRY(Insert("INSERT INTO lane VALUES", "(?,?)", batch.lanes));
  OPGUARD_TRY(Insert("INSERT INTO schema VALUES", "(?,?,?,?,?)", batch.schemas));
  OPGUARD_TRY(Insert("INSERT INTO arguments VALUES", "(?,?)", batch.arguments));
  OPGUARD_TRY(Insert("INSERT INTO inside VALUES", "(?,?)", batch.insides));
  OPGUARD_TRY(Insert("INSERT INTO slot VALUES", "(?,?,?,?)", batch.slots));
  OPGUARD_TRY(Insert("INSERT INTO geometry VALUES", "(?,?,?,?,?,?,?)", batch.geometries));
  OPGUARD_TRY(Insert("INSERT INTO module VALUES", "(?,?,?)", batch.modules));
  OPGUARD_TRY(InsertSources(batch.sources));
  OPGUARD_TRY(Insert("INSERT INTO frame VALUES", "(?,?,?,?,?)", batch.frames));
  OPGUARD_TRY(Insert("INSERT INTO stack VALUES", "(?,?,?)", batch.stacks));
  OPGUARD_TRY(Insert("INSERT INTO step VALUES", "(?,?)", batch.steps));
  OPGUARD_TRY(Insert("INSERT INTO node VALUES", "(?,?,?)", batch.nodes));
  OPGUARD_TRY(Insert("INSERT INTO storage VALUES", "(?,?,?,?)", batch.storages));
  OPGUARD_TRY(Insert("INSERT INTO op VALUES", "(?,?,?,?,?,?,?,?,?,?,?,?,?)", batch.ops));
  OPGUARD_TRY(Insert("INSERT INTO tensor VALUES", "(?,?,?,?,?,?,?,?)", batch.tensors));
  OPGUARD_TRY(Insert("INSERT INTO statistic VALUES", "(?,?,?,?,?,?)", batch.statistics));
  OPGUARD_TRY(Insert("INSERT INTO rng VALUES", "(?,?,?,?,?)", batch.rngs));
  OPGUARD_TRY(Insert("INSERT INTO gap VALUES", "(?,?,?,?)", batch.gaps));
  OPGUARD_TRY(Insert("INSERT INTO note VALUES", "(?,?,?,?)", batch.notes));
  OPGUARD_TRY(Insert("INSERT OR REPLACE INTO trace VALUES", "(?,?)", batch.trace));
  OPGUARD_TRY(Insert("INSERT OR REPLACE INTO environment VALUES", "(?,?)", batch.environment));
  ops += static_cast<std::int64_t>(batch.ops.size());
  tensors += static_cast<std::int64_t>(batch.tensors.size());
  return {};
}

Result<void> TraceWriter::Impl::Finish(const std::string& status) {
  OPGUARD_TRY(Begin());
  OPGUARD_TRY(Insert(
      "INSERT OR REPLACE INTO trace VALUES", "(?,?)",
      std::vector<KeyValue>{
          {"status", status}, {"ops", std::to_string(ops)}, {"tensors", std::to_string(tensors)}}));
  OPGUARD_TRY(Commit());
  statements.clear();
  return database.Execute("PRAGMA journal_mode=DELETE");
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::Create(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) {
    return Fail(ErrorCode::kIo, "cannot create the trace " + path + ": " + std::strerror(errno),
                "choose a folder that exists and is writable");
  }
  close(fd);
  const auto fill = [&path]() -> Result<std::unique_ptr<TraceWriter>> {
    OPGUARD_ASSIGN(Database database, Database::Open(path, sqlite::Access::kReadWrite));
    auto impl = std::make_unique<Impl>(path, std::move(database));
    OPGUARD_TRY(impl->database.Execute(kPragmas));
    OPGUARD_TRY(impl->Begin());
    OPGUARD_TRY(impl->database.Execute(kTraceSchema));
    OPGUARD_TRY(impl->Insert("INSERT OR REPLACE INTO trace VALUES", "(?,?)",
                             std::vector<KeyValue>{{"status", "incomplete"}}));
    OPGUARD_TRY(impl->Commit());
    return std::unique_ptr<TraceWriter>(new TraceWriter(std::move(impl)));
  };
  auto writer = fill();
  if (writer) return writer;
  unlink(path.c_str());  // an empty file would look like a damaged trace
  return tl::unexpected<Error>(At(writer.error(), path));
}

TraceWriter::TraceWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TraceWriter::~TraceWriter() = default;

Result<void> TraceWriter::Append(const Batch& batch) {
  auto appended = impl_->Append(batch);
  if (!appended) {
    // A batch is there as a whole or not at all.
    if (std::exchange(impl_->in_transaction, false)) (void)impl_->database.Execute("ROLLBACK");
    return tl::unexpected<Error>(At(appended.error(), impl_->path));
  }
  return {};
}

Result<void> TraceWriter::Commit() {
  auto committed = impl_->Commit();
  if (!committed) return tl::unexpected<Error>(At(committed.error(), impl_->path));
  return {};
}

Result<void> TraceWriter::Finish(const std::string& status) {
  const std::unique_ptr<Impl> impl = std::move(impl_);
  auto finished = impl->Finish(status);
  if (!finished) return tl::unexpected<Error>(At(finished.error(), impl->path));
  return {};
}

}  // namespace opguard::store
