// Reads one trace database: whole columns for alignment, single rows for the tools.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "opguard/store/records.h"
#include "opguard/store/result.h"

namespace opguard::store {

// The interned tables and small event tables of a trace, indexed so that element [id] of a vector
// is the row with that id (element 0 is an empty row).
struct TraceFacts {
  std::vector<LaneRow> lanes;
  std::vector<SchemaRow> schemas;
  std::vector<TextRow> arguments, insides;
  std::vector<SlotRow> slots;
  std::vector<GeometryRow> geometries;
  std::vector<ModuleRow> modules;
  std::vector<FrameRow> frames;
  std::vector<StackRow> stacks;
  std::vector<StepRow> steps;  // by id, from step 1; element 0 is an empty row
  std::vector<KeyValue> trace, environment;
  std::vector<GapRow> gaps;  // plain lists, not indexed by id
  std::vector<NoteRow> notes;
  std::int64_t op_count = 0, tensor_count = 0, max_op_id = 0, max_tensor_id = 0;

  // The value of trace[key] or `fallback`.
  std::string TraceValue(const std::string& key, const std::string& fallback = {}) const;
  bool complete() const { return TraceValue("status") == "complete"; }
};

// Read-only and defensive: the file is untrusted (trusted_schema off, application_id and version
// checked, every id range-checked before it is returned, no SQL of the file is run).
// One reader per thread. Opening a WAL file that its writer left behind recovers the committed
// prefix without changing the main file where the folder is writable.
class TraceReader {
 public:
  // Errors: kNotFound, kNotATrace, kUnsupportedVersion, kCorrupt, kIo.
  [[nodiscard]] static Result<std::unique_ptr<TraceReader>> Open(const std::string& path);
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  [[nodiscard]] Result<TraceFacts> ReadFacts() const;
  // Calls `sink` for every row in ascending id; a row's ids are within the ranges of `facts`.
  [[nodiscard]] Result<void> ScanOps(const std::function<void(const OpRow&)>& sink) const;
  [[nodiscard]] Result<void> ScanTensors(const std::function<void(const TensorRow&)>& sink) const;
  [[nodiscard]] Result<void> ScanNodes(const std::function<void(const NodeRow&)>& sink) const;
  [[nodiscard]] Result<void> ScanStorages(const std::function<void(const StorageRow&)>& sink) const;

  // File id of the op at a 0-based position in ascending id; kNotFound past the end.
  [[nodiscard]] Result<std::int64_t> OpIdAt(std::int64_t index) const;
  // Single rows; kNotFound if there is none.
  [[nodiscard]] Result<OpRow> Op(std::int64_t id) const;
  [[nodiscard]] Result<std::vector<TensorRow>> TensorsOf(const OpRow& op) const;
  [[nodiscard]] Result<NodeRow> Node(std::int64_t id) const;
  [[nodiscard]] Result<StatisticRow> Statistic(std::int64_t tensor) const;
  [[nodiscard]] Result<RngRow> Rng(std::int64_t op) const;
  [[nodiscard]] Result<std::vector<StatisticRow>> Statistics() const;
  [[nodiscard]] Result<std::vector<RngRow>> Rngs() const;         // ascending op
  [[nodiscard]] Result<SourceRow> Source(std::int64_t id) const;  // with text
  [[nodiscard]] Result<SourceRow> SourceByPath(const std::string& path) const;
  // Runs `PRAGMA quick_check`; kCorrupt with the first finding.
  [[nodiscard]] Result<void> Verify() const;

  // The open database answers kTimeout once `steps` virtual machine steps * 1000 were run in one
  // call; 0 means no limit.
  void SetWorkLimit(std::int64_t steps);

 private:
  struct Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace opguard::store
