#include "opguard/store/trace_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "compression.h"
#include "opguard/store/sqlite.h"
#include "trace_file.h"

namespace opguard::store {
namespace {

using sqlite::Statement;

// Values of one row in the order of the columns.
class RowFields {
 public:
  explicit RowFields(const Statement& statement) : statement_(statement) {}
  RowFields& operator>>(std::int64_t& value) {
    value = statement_.Int(column_++);
    return *this;
  }
  RowFields& operator>>(std::int32_t& value) {
    value = static_cast<std::int32_t>(statement_.Int(column_++));
    return *this;
  }
  RowFields& operator>>(std::uint32_t& value) {
    value = static_cast<std::uint32_t>(statement_.Int(column_++));
    return *this;
  }
  RowFields& operator>>(std::uint64_t& value) {
    value = static_cast<std::uint64_t>(statement_.Int(column_++));
    return *this;
  }
  RowFields& operator>>(std::string& text) {
    text = statement_.Text(column_++);
    return *this;
  }
  RowFields& operator>>(std::optional<double>& value) {
    if (!statement_.IsNull(column_)) value = statement_.Real(column_);
    ++column_;
    return *this;
  }

 private:
  const Statement& statement_;
  int column_ = 0;
};

void Read(RowFields row, LaneRow& r) { row >> r.id >> r.name; }
void Read(RowFields row, SchemaRow& r) {
  row >> r.id >> r.name >> r.overload >> r.signature >> r.traits;
}
void Read(RowFields row, TextRow& r) { row >> r.id >> r.text; }
void Read(RowFields row, SlotRow& r) { row >> r.id >> r.role >> r.position >> r.item; }
void Read(RowFields row, GeometryRow& r) {
  row >> r.id >> r.dtype >> r.device >> r.sizes >> r.strides >> r.storage_offset >> r.layout;
}
void Read(RowFields row, ModuleRow& r) { row >> r.id >> r.name >> r.class_name; }
void Read(RowFields row, FrameRow& r) { row >> r.id >> r.path >> r.line >> r.function >> r.source; }
void Read(RowFields row, StackRow& r) { row >> r.id >> r.parent >> r.frame; }
void Read(RowFields row, StepRow& r) { row >> r.id >> r.first_op; }
void Read(RowFields row, NodeRow& r) { row >> r.id >> r.name >> r.forward_op; }
void Read(RowFields row, StorageRow& r) { row >> r.id >> r.bytes >> r.first_op >> r.alias_of; }
void Read(RowFields row, StatisticRow& r) {
  row >> r.tensor >> r.nans >> r.infs >> r.zeros >> r.minimum >> r.maximum;
}
void Read(RowFields row, RngRow& r) {
  row >> r.op >> r.generator >> r.seed >> r.state_before >> r.state_after;
}
void Read(RowFields row, GapRow& r) { row >> r.id >> r.first_step >> r.last_step >> r.reason; }
void Read(RowFields row, NoteRow& r) { row >> r.id >> r.op >> r.code >> r.text; }
void Read(RowFields row, KeyValue& r) { row >> r.key >> r.value; }

void Read(RowFields row, OpRow& r) {
  std::int64_t phase = 0;
  row >> r.id >> r.lane >> phase >> r.schema >> r.arguments >> r.module >> r.stack >> r.node >>
      r.inside >> r.parent >> r.first_tensor >> r.tensors >> r.flags;
  r.phase = phase >= 0 && phase <= 3 ? static_cast<Phase>(phase) : Phase::kOther;
}

// By hand instead of RowFields: millions of rows.
void ReadTensor(const Statement& row, TensorRow& r) {
  r.id = row.Int(0);
  r.op = row.Int(1);
  r.slot = row.Int(2);
  r.geometry = row.Int(3);
  r.storage = row.Int(4);
  const std::int64_t state = row.Int(5);
  r.state = state >= 0 && state <= 3 ? static_cast<TensorState>(state) : TensorState::kUnreadable;
  r.has_fingerprint = !row.IsNull(6);
  r.fingerprint = static_cast<std::uint64_t>(row.Int(6));
  r.unordered = static_cast<std::uint64_t>(row.Int(7));
}

// Ids of a table are dense but for rows of dropped steps; far beyond that, the file is damaged.
bool IsPlausible(std::int64_t id, std::size_t rows) {
  constexpr std::int64_t kSparse = 16, kSlack = 1 << 16;
  return id > 0 && id <= static_cast<std::int64_t>(rows) * kSparse + kSlack;
}

}  // namespace

std::string TraceFacts::TraceValue(const std::string& key, const std::string& fallback) const {
  const auto entry = std::find_if(trace.begin(), trace.end(),
                                  [&](const KeyValue& candidate) { return candidate.key == key; });
  return entry == trace.end() ? fallback : entry->value;
}

struct TraceReader::Impl {
  Impl(std::string name, TraceFile opened) : path(std::move(name)), file(std::move(opened)) {}

  // The largest id that may be referred to in each interned table.
  struct Ranges {
    std::int64_t lanes, schemas, arguments, modules, stacks, nodes, insides, slots, geometries,
        storages;
  };

  std::string path;
  TraceFile file;
  std::int64_t work_limit = 0;
  std::optional<Ranges> ranges;
  std::map<const char*, Statement> statements;  // by the address of their text; before the file

  tl::unexpected<Error> At(Error error) const {
    return tl::unexpected<Error>(AtTrace(std::move(error), path));
  }
  tl::unexpected<Error> Corrupt(const std::string& what) const {
    return At({ErrorCode::kCorrupt, what, {}, {}});
  }
  tl::unexpected<Error> Missing(const std::string& what) const {
    return At({ErrorCode::kNotFound, what, "take ids from first_diff's answer", {}});
  }

  Result<Statement*> Prepared(const char* sql) {
    file.database.SetWorkLimit(work_limit);
    auto known = statements.find(sql);
    if (known == statements.end()) {
      auto statement = file.database.Prepare(sql);
      if (!statement) return At(statement.error());
      known = statements.emplace(sql, std::move(*statement)).first;
    }
    known->second.Reset();
    return &known->second;
  }

  Result<bool> Step(Statement& statement) const {
    auto row = statement.Step();
    if (!row) return At(row.error());
    return row;
  }

  Result<std::int64_t> Number(const char* sql) {
    OPGUARD_ASSIGN(Statement* const statement, Prepared(sql));
    OPGUARD_ASSIGN(const bool has_row, Step(*statement));
    const std::int64_t value = has_row ? statement->Int(0) : 0;
    statement->Reset();
    return value;
  }

  // Calls `take` for each row until it answers an error.
  template <typename Take>
  Result<void> Rows(const char* sql, const Take& take) {
    OPGUARD_ASSIGN(Statement* const statement, Prepared(sql));
    for (;;) {
      OPGUARD_ASSIGN(const bool has_row, Step(*statement));
      if (!has_row) break;
      OPGUARD_TRY(take(*statement));
    }
    statement->Reset();
    return {};
  }

  template <typename Row>
  Result<void> List(const char* sql, std::vector<Row>& rows) {
    return Rows(sql, [&rows](const Statement& fields) -> Result<void> {
      Read(RowFields(fields), rows.emplace_back());
      return {};
    });
  }

  // Element [id] is the row with that id.
  template <typename Row>
  Result<void> Indexed(const char* sql, std::vector<Row>& rows) {
    rows.assign(1, Row{});
    std::size_t count = 0;
    return Rows(sql, [&](const Statement& fields) -> Result<void> {
      Row row{};
      Read(RowFields(fields), row);
      if (!IsPlausible(row.id, ++count)) {
        return Corrupt("an id of an interned table is out of range");
      }
      const auto id = static_cast<std::size_t>(row.id);
      if (id >= rows.size()) rows.resize(id + 1);
      rows[id] = std::move(row);
      return {};
    });
  }

  Result<const Ranges*> GetRanges() {
    if (!ranges) {
      Ranges found{};
      const std::pair<const char*, std::int64_t*> tables[] = {
          {"SELECT max(id) FROM lane", &found.lanes},
          {"SELECT max(id) FROM schema", &found.schemas},
          {"SELECT max(id) FROM arguments", &found.arguments},
          {"SELECT max(id) FROM module", &found.modules},
          {"SELECT max(id) FROM stack", &found.stacks},
          {"SELECT max(id) FROM node", &found.nodes},
          {"SELECT max(id) FROM inside", &found.insides},
          {"SELECT max(id) FROM slot", &found.slots},
          {"SELECT max(id) FROM geometry", &found.geometries},
          {"SELECT max(id) FROM storage", &found.storages}};
      for (const auto& [sql, maximum] : tables) {
        OPGUARD_ASSIGN(*maximum, Number(sql));
      }
      ranges = found;
    }
    return &*ranges;
  }

  static bool In(std::int64_t id, std::int64_t maximum) { return id >= 0 && id <= maximum; }

  Result<void> Check(const OpRow& op, const Ranges& ids) const {
    const bool valid = op.id > 0 && In(op.lane, ids.lanes) && In(op.schema, ids.schemas) &&
                       In(op.arguments, ids.arguments) && In(op.module, ids.modules) &&
                       In(op.stack, ids.stacks) && In(op.node, ids.nodes) &&
                       In(op.inside, ids.insides) && In(op.parent, op.id) && op.tensors >= 0 &&
                       op.first_tensor >= 0;
    if (valid) return {};
    return Corrupt("op " + std::to_string(op.id) + " refers to something that does not exist");
  }
  Result<void> Check(const TensorRow& tensor, const Ranges& ids) const {
    const bool valid = tensor.id > 0 && tensor.op > 0 && In(tensor.slot, ids.slots) &&
                       In(tensor.geometry, ids.geometries) && In(tensor.storage, ids.storages);
    if (valid) return {};
    return Corrupt("tensor " + std::to_string(tensor.id) +
                   " refers to something that does not exist");
  }

  // How many rows `table` has: what the writer said at the end if that is possible, else counted.
  Result<std::int64_t> Count(const TraceFacts& facts, const char* key, std::int64_t max_id,
                             const char* count) {
    struct stat status {};
    constexpr std::int64_t kSmallestRow = 8;
    const std::string written = facts.complete() ? facts.TraceValue(key) : std::string{};
    if (!written.empty() && written.size() < 16 &&
        written.find_first_not_of("0123456789") == std::string::npos &&
        stat(path.c_str(), &status) == 0) {
      const std::int64_t rows = std::stoll(written);
      if (rows <= max_id && rows <= status.st_size / kSmallestRow) return rows;
    }
    return Number(count);
  }

  Result<SourceRow> SourceOf(Statement& statement, const std::string& what) const {
    OPGUARD_ASSIGN(const bool has_row, Step(statement));
    if (!has_row) return Missing(what);
    SourceRow row{};
    RowFields(statement) >> row.id >> row.path >> row.sha256 >> row.bytes;
    if (!statement.IsNull(4)) {
      auto text = Decompress(statement.Text(4), row.bytes);
      if (!text) return At(text.error());
      row.text = std::move(*text);
    }
    statement.Reset();
    return row;
  }

  template <typename Row>
  Result<Row> One(const char* sql, std::int64_t id, const char* what) {
    OPGUARD_ASSIGN(Statement* const statement, Prepared(sql));
    statement->BindInt(1, id);
    OPGUARD_ASSIGN(const bool has_row, Step(*statement));
    if (!has_row) return Missing(std::string(what).append(" ").append(std::to_string(id)));
    Row row{};
    Read(RowFields(*statement), row);
    statement->Reset();
    return row;
  }
};

Result<std::unique_ptr<TraceReader>> TraceReader::Open(const std::string& path) {
  OPGUARD_ASSIGN(TraceFile file, OpenTrace(path));
  return std::unique_ptr<TraceReader>(
      new TraceReader(std::make_unique<Impl>(path, std::move(file))));
}

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TraceReader::~TraceReader() = default;

Result<TraceFacts> TraceReader::ReadFacts() const {
  TraceFacts facts;
  Impl& in = *impl_;
  OPGUARD_TRY(in.List("SELECT key,value FROM trace ORDER BY key", facts.trace));
  OPGUARD_TRY(in.List("SELECT key,value FROM environment ORDER BY key", facts.environment));
  OPGUARD_TRY(in.Indexed("SELECT id,name FROM lane ORDER BY id", facts.lanes));
  OPGUARD_TRY(in.Indexed("SELECT id,name,overload,signature,traits FROM schema ORDER BY id",
                         facts.schemas));
  OPGUARD_TRY(in.Indexed("SELECT id,text FROM arguments ORDER BY id", facts.arguments));
  OPGUARD_TRY(in.Indexed("SELECT id,text FROM inside ORDER BY id", facts.insides));
  OPGUARD_TRY(in.Indexed("SELECT id,role,position,item FROM slot ORDER BY id", facts.slots));
  OPGUARD_TRY(in.Indexed(
      "SELECT id,dtype,device,sizes,strides,storage_offset,layout FROM geometry ORDER BY id",
      facts.geometries));
  OPGUARD_TRY(in.Indexed("SELECT id,name,class FROM module ORDER BY id", facts.modules));
  OPGUARD_TRY(
      in.Indexed("SELECT id,path,line,function,source FROM frame ORDER BY id", facts.frames));
  OPGUARD_TRY(in.Indexed("SELECT id,parent,frame FROM stack ORDER BY id", facts.stacks));
  OPGUARD_TRY(in.Indexed("SELECT id,first_op FROM step ORDER BY id", facts.steps));
  OPGUARD_TRY(in.List("SELECT id,first_step,last_step,reason FROM gap ORDER BY id", facts.gaps));
  OPGUARD_TRY(in.List("SELECT id,op,code,text FROM note ORDER BY id", facts.notes));
  OPGUARD_ASSIGN(facts.max_op_id, in.Number("SELECT max(id) FROM op"));
  OPGUARD_ASSIGN(facts.max_tensor_id, in.Number("SELECT max(id) FROM tensor"));
  OPGUARD_ASSIGN(facts.op_count,
                 in.Count(facts, "ops", facts.max_op_id, "SELECT count(*) FROM op"));
  OPGUARD_ASSIGN(facts.tensor_count,
                 in.Count(facts, "tensors", facts.max_tensor_id, "SELECT count(*) FROM tensor"));
  for (std::size_t id = 1; id < facts.stacks.size(); ++id) {
    const StackRow& stack = facts.stacks[id];
    // A parent comes first, so following parents ends.
    if (stack.parent < 0 || stack.parent >= static_cast<std::int64_t>(id) || stack.frame < 0 ||
        stack.frame >= static_cast<std::int64_t>(facts.frames.size())) {
      return in.Corrupt("stack " + std::to_string(id) + " refers to something that does not exist");
    }
  }
  return facts;
}

Result<void> TraceReader::ScanOps(const std::function<void(const OpRow&)>& sink) const {
  OPGUARD_ASSIGN(const Impl::Ranges* const ids, impl_->GetRanges());
  OpRow op{};
  return impl_->Rows(
      "SELECT id,lane,phase,schema,arguments,module,stack,node,inside,parent,"
      "first_tensor,tensors,flags FROM op ORDER BY id",
      [&](const Statement& fields) -> Result<void> {
        Read(RowFields(fields), op);
        OPGUARD_TRY(impl_->Check(op, *ids));
        sink(op);
        return {};
      });
}

Result<void> TraceReader::ScanTensors(const std::function<void(const TensorRow&)>& sink) const {
  OPGUARD_ASSIGN(const Impl::Ranges* const ids, impl_->GetRanges());
  TensorRow tensor{};
  return impl_->Rows(
      "SELECT id,op,slot,geometry,storage,state,fingerprint,unordered FROM tensor ORDER BY id",
      [&](const Statement& fields) -> Result<void> {
        ReadTensor(fields, tensor);
        OPGUARD_TRY(impl_->Check(tensor, *ids));
        sink(tensor);
        return {};
      });
}

Result<void> TraceReader::ScanNodes(const std::function<void(const NodeRow&)>& sink) const {
  NodeRow node{};
  return impl_->Rows("SELECT id,name,forward_op FROM node ORDER BY id",
                     [&](const Statement& fields) -> Result<void> {
                       Read(RowFields(fields), node);
                       sink(node);
                       return {};
                     });
}

Result<void> TraceReader::ScanStorages(const std::function<void(const StorageRow&)>& sink) const {
  StorageRow storage{};
  return impl_->Rows("SELECT id,bytes,first_op,alias_of FROM storage ORDER BY id",
                     [&](const Statement& fields) -> Result<void> {
                       Read(RowFields(fields), storage);
                       sink(storage);
                       return {};
                     });
}

Result<std::int64_t> TraceReader::OpIdAt(std::int64_t index) const {
  if (index >= 0) {
    OPGUARD_ASSIGN(Statement* const statement,
                   impl_->Prepared("SELECT id FROM op ORDER BY id LIMIT 1 OFFSET ?"));
    statement->BindInt(1, index);
    OPGUARD_ASSIGN(const bool has_row, impl_->Step(*statement));
    if (has_row) {
      const std::int64_t id = statement->Int(0);
      statement->Reset();
      return id;
    }
  }
  return impl_->Missing("there is no op at position " + std::to_string(index));
}

Result<OpRow> TraceReader::Op(std::int64_t id) const {
  OPGUARD_ASSIGN(const Impl::Ranges* const ids, impl_->GetRanges());
  OPGUARD_ASSIGN(OpRow op,
                 impl_->One<OpRow>("SELECT id,lane,phase,schema,arguments,module,stack,node,inside,"
                                   "parent,first_tensor,tensors,flags FROM op WHERE id=?",
                                   id, "there is no op"));
  OPGUARD_TRY(impl_->Check(op, *ids));
  return op;
}

Result<std::vector<TensorRow>> TraceReader::TensorsOf(const OpRow& op) const {
  OPGUARD_ASSIGN(const Impl::Ranges* const ids, impl_->GetRanges());
  OPGUARD_ASSIGN(Statement* const statement,
                 impl_->Prepared("SELECT id,op,slot,geometry,storage,state,fingerprint,unordered "
                                 "FROM tensor WHERE id>=?1 AND id-?1<?2 AND id<=?3 ORDER BY id"));
  statement->BindInt(1, op.first_tensor);
  statement->BindInt(2, op.tensors);
  statement->BindInt(
      3, op.first_tensor > INT64_MAX - op.tensors ? INT64_MAX : op.first_tensor + op.tensors);
  std::vector<TensorRow> tensors;
  for (;;) {
    OPGUARD_ASSIGN(const bool has_row, impl_->Step(*statement));
    if (!has_row) break;
    TensorRow tensor{};
    ReadTensor(*statement, tensor);
    OPGUARD_TRY(impl_->Check(tensor, *ids));
    // A lying range must not give another op's tensors.
    if (tensor.op == op.id) tensors.push_back(tensor);
  }
  statement->Reset();
  return tensors;
}

Result<NodeRow> TraceReader::Node(std::int64_t id) const {
  return impl_->One<NodeRow>("SELECT id,name,forward_op FROM node WHERE id=?", id,
                             "there is no autograd node");
}

Result<StatisticRow> TraceReader::Statistic(std::int64_t tensor) const {
  return impl_->One<StatisticRow>(
      "SELECT tensor,nans,infs,zeros,minimum,maximum FROM statistic WHERE tensor=?", tensor,
      "there are no statistics of tensor");
}

Result<RngRow> TraceReader::Rng(std::int64_t op) const {
  return impl_->One<RngRow>("SELECT op,generator,seed,state_before,state_after FROM rng WHERE op=?",
                            op, "there is no generator state of op");
}

Result<std::vector<StatisticRow>> TraceReader::Statistics() const {
  std::vector<StatisticRow> rows;
  OPGUARD_TRY(impl_->List(
      "SELECT tensor,nans,infs,zeros,minimum,maximum FROM statistic ORDER BY tensor", rows));
  return rows;
}

Result<std::vector<RngRow>> TraceReader::Rngs() const {
  std::vector<RngRow> rows;
  OPGUARD_TRY(
      impl_->List("SELECT op,generator,seed,state_before,state_after FROM rng ORDER BY op", rows));
  return rows;
}

Result<SourceRow> TraceReader::Source(std::int64_t id) const {
  OPGUARD_ASSIGN(Statement* const statement,
                 impl_->Prepared("SELECT id,path,sha256,bytes,text_zstd FROM source WHERE id=?"));
  statement->BindInt(1, id);
  return impl_->SourceOf(*statement, "there is no source " + std::to_string(id));
}

Result<SourceRow> TraceReader::SourceByPath(const std::string& path) const {
  OPGUARD_ASSIGN(Statement* const statement,
                 impl_->Prepared("SELECT id,path,sha256,bytes,text_zstd FROM source WHERE path=? "
                                 "ORDER BY id DESC LIMIT 1"));
  statement->BindText(1, path);
  auto source = impl_->SourceOf(*statement, "no source was captured from " + path);
  statement->Reset();
  return source;
}

Result<void> TraceReader::Verify() const {
  OPGUARD_ASSIGN(Statement* const statement, impl_->Prepared("PRAGMA quick_check(1)"));
  OPGUARD_ASSIGN(const bool has_row, impl_->Step(*statement));
  const std::string finding = has_row ? statement->Text(0) : std::string{"no answer"};
  statement->Reset();
  if (finding == "ok") return {};
  return impl_->Corrupt(finding);
}

void TraceReader::SetWorkLimit(std::int64_t steps) { impl_->work_limit = steps; }

}  // namespace opguard::store
