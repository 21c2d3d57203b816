#include "trace_columns.h"

#include <limits>
#include <string>
#include <utility>

namespace opguard::analysis {
namespace {

// The first contradiction met while a scan runs; the sink cannot stop the scan.
class Check {
 public:
  void That(bool holds, const char* what, std::int64_t id) {
    if (holds || failed_) return;
    failed_ = true;
    what_ = what;
    id_ = id;
  }
  bool failed() const { return failed_; }
  Result<void> ToResult(const Trace& trace) const {
    if (!failed_) return {};
    return Fail(ErrorCode::kCorrupt,
                trace.path + ": " + what_ + " (id " + std::to_string(id_) + ")",
                "capture this side again");
  }

 private:
  bool failed_ = false;
  const char* what_ = "";
  std::int64_t id_ = 0;
};

std::uint32_t Translate(const std::vector<std::uint32_t>& ids, std::int64_t id, Check& check,
                        std::int64_t row) {
  if (id == 0) return 0;
  if (id < 0 || static_cast<std::size_t>(id) >= ids.size()) {
    check.That(false, "a row refers to an interned row that does not exist", row);
    return 0;
  }
  return ids[static_cast<std::size_t>(id)];
}

// Steps in force as ops are met in ascending id.
class StepCursor {
 public:
  explicit StepCursor(const std::vector<store::StepRow>& rows) : rows_(rows) {
    while (next_ < rows_.size() && rows_[next_].id == 0) ++next_;
    if (next_ < rows_.size()) step_ = static_cast<std::uint32_t>(rows_[next_].id);
  }
  std::uint32_t At(std::int64_t op) {
    for (; next_ < rows_.size() && (rows_[next_].id == 0 || rows_[next_].first_op <= op); ++next_) {
      if (rows_[next_].id != 0) step_ = static_cast<std::uint32_t>(rows_[next_].id);
    }
    return step_;
  }

 private:
  const std::vector<store::StepRow>& rows_;
  std::size_t next_ = 0;
  std::uint32_t step_ = 1;
};

void ReserveOps(Trace& trace, std::size_t ops) {
  trace.op_id.reserve(ops);
  trace.lane.reserve(ops);
  trace.phase.reserve(ops);
  trace.step.reserve(ops);
  trace.schema.reserve(ops);
  trace.arguments.reserve(ops);
  trace.module.reserve(ops);
  trace.inside.reserve(ops);
  trace.stack.reserve(ops);
  trace.node.reserve(ops);
  trace.flags.reserve(ops);
  trace.first_tensor.reserve(ops + 1);
}

// Where each op's records lie in the file: the columns are grouped by op, the file is not.
using FileRanges = std::vector<std::int64_t>;

Result<FileRanges> ReadOps(const store::TraceReader& reader, const Translation& ids, Trace& trace) {
  const auto expected = static_cast<std::size_t>(trace.facts.op_count);
  ReserveOps(trace, expected);
  FileRanges ranges;
  ranges.reserve(expected);
  Check check;
  StepCursor steps(trace.facts.steps);
  const std::int64_t tensor_count = trace.facts.tensor_count;
  std::int64_t tensors = 0;
  auto scan = reader.ScanOps([&](const store::OpRow& row) {
    if (check.failed()) return;
    check.That(row.tensors >= 0 && tensors + row.tensors <= tensor_count,
               "an op claims more tensor records than the file has", row.id);
    check.That(row.phase <= Phase::kOptimizer, "an op has an unknown phase", row.id);
    check.That(row.stack >= 0 && row.stack <= std::numeric_limits<std::uint32_t>::max() &&
                   row.node >= 0 &&
                   (row.node == 0 || static_cast<std::size_t>(row.node) < trace.nodes.size()),
               "an op refers to a stack or node that does not exist", row.id);
    check.That(trace.op_id.empty() || trace.op_id.back() < row.id, "op ids do not ascend", row.id);
    if (check.failed()) return;
    trace.op_id.push_back(row.id);
    trace.lane.push_back(static_cast<std::uint16_t>(Translate(ids.lanes, row.lane, check, row.id)));
    trace.phase.push_back(row.phase);
    trace.step.push_back(steps.At(row.id));
    trace.schema.push_back(Translate(ids.schemas, row.schema, check, row.id));
    trace.arguments.push_back(Translate(ids.arguments, row.arguments, check, row.id));
    trace.module.push_back(Translate(ids.modules, row.module, check, row.id));
    trace.inside.push_back(Translate(ids.insides, row.inside, check, row.id));
    trace.stack.push_back(static_cast<std::uint32_t>(row.stack));
    trace.node.push_back(static_cast<std::uint32_t>(row.node));
    trace.flags.push_back(static_cast<std::uint8_t>(row.flags));
    trace.first_tensor.push_back(static_cast<std::uint64_t>(tensors));
    ranges.push_back(row.first_tensor);
    tensors += row.tensors;
  });
  OPGUARD_TRY(scan);
  trace.first_tensor.push_back(static_cast<std::uint64_t>(tensors));
  OPGUARD_TRY(check.ToResult(trace));
  return ranges;
}

void ResizeTensors(Trace& trace, std::size_t tensors) {
  trace.tensor_slot.resize(tensors);
  trace.tensor_geometry.resize(tensors);
  trace.tensor_storage.resize(tensors);
  // A record that its op announces and the file lacks stays unreadable.
  trace.tensor_state.resize(tensors, TensorState::kUnreadable);
  trace.fingerprint.resize(tensors);
  trace.unordered.resize(tensors);
  trace.tensor_id.resize(tensors);
}

// Position of a record in the columns, or -1 if it is not within its op's range.
class TensorPlace {
 public:
  TensorPlace(const Trace& trace, const FileRanges& ranges) : trace_(trace), ranges_(ranges) {}
  std::int64_t Of(const store::TensorRow& row) {
    if (op_ < 0 || trace_.op_id[static_cast<std::size_t>(op_)] != row.op) {
      const bool is_next = static_cast<std::size_t>(op_ + 1) < trace_.ops() &&
                           trace_.op_id[static_cast<std::size_t>(op_ + 1)] == row.op;
      op_ = is_next ? op_ + 1 : trace_.IndexOf(row.op);
      if (op_ < 0) return -1;
    }
    const auto op = static_cast<std::size_t>(op_);
    const std::int64_t item = row.id - ranges_[op];
    const auto count =
        static_cast<std::int64_t>(trace_.first_tensor[op + 1] - trace_.first_tensor[op]);
    if (item < 0 || item >= count) return -1;
    return static_cast<std::int64_t>(trace_.first_tensor[op]) + item;
  }

 private:
  const Trace& trace_;
  const FileRanges& ranges_;
  std::int64_t op_ = -1;
};

Result<void> ReadTensors(const store::TraceReader& reader, const Translation& ids,
                         const FileRanges& ranges, Trace& trace) {
  ResizeTensors(trace, static_cast<std::size_t>(trace.first_tensor.back()));
  Check check;
  TensorPlace place(trace, ranges);
  auto scan = reader.ScanTensors([&](const store::TensorRow& row) {
    const std::int64_t position = place.Of(row);
    // A record of an op that was not committed yet (crashed side) is left out.
    if (position < 0 || check.failed()) return;
    const auto at = static_cast<std::size_t>(position);
    check.That(row.storage >= 0 && row.storage <= std::numeric_limits<std::uint32_t>::max(),
               "a tensor refers to a storage that does not exist", row.id);
    trace.tensor_slot[at] = Translate(ids.slots, row.slot, check, row.id);
    trace.tensor_geometry[at] = Translate(ids.geometries, row.geometry, check, row.id);
    trace.tensor_storage[at] = static_cast<std::uint32_t>(row.storage);
    const bool has_value = row.has_fingerprint || row.state == TensorState::kView;
    trace.tensor_state[at] = has_value ? row.state : TensorState::kUnreadable;
    trace.fingerprint[at] = row.fingerprint;
    trace.unordered[at] = row.unordered;
    trace.tensor_id[at] = row.id;
  });
  OPGUARD_TRY(scan);
  return check.ToResult(trace);
}

Result<void> ReadDraws(const store::TraceReader& reader, Trace& trace) {
  OPGUARD_ASSIGN(trace.rngs, reader.Rngs());
  // A draw of an op that was not committed yet (crashed side) is left out.
  std::erase_if(trace.rngs, [&](const store::RngRow& row) { return trace.IndexOf(row.op) < 0; });
  return {};
}

// Ids are dense but for dropped steps; far beyond that, the file is damaged.
bool IsPlausibleId(std::int64_t id, std::int64_t rows) {
  constexpr std::int64_t kSparse = 64, kSlack = 1 << 20;
  return id > 0 && id <= rows * kSparse + kSlack;
}

template <typename Row>
auto PlaceById(std::vector<Row>& rows, std::int64_t plausible_rows, Check& check) {
  rows.assign(1, Row{});
  return [&rows, plausible_rows, &check](const Row& row) {
    check.That(IsPlausibleId(row.id, plausible_rows), "a node or storage id is out of range",
               row.id);
    if (check.failed()) return;
    const auto id = static_cast<std::size_t>(row.id);
    if (id >= rows.size()) rows.resize(id + 1);
    rows[id] = row;
  };
}

}  // namespace

Result<void> ReadColumns(const store::TraceReader& reader, const Translation& translation,
                         Trace& trace) {
  Check check;
  OPGUARD_TRY(reader.ScanNodes(PlaceById(trace.nodes, trace.facts.op_count, check)));
  OPGUARD_TRY(reader.ScanStorages(PlaceById(trace.storages, trace.facts.tensor_count, check)));
  OPGUARD_TRY(check.ToResult(trace));
  OPGUARD_ASSIGN(const FileRanges ranges, ReadOps(reader, translation, trace));
  OPGUARD_TRY(ReadTensors(reader, translation, ranges, trace));
  return ReadDraws(reader, trace);
}

}  // namespace opguard::analysis
