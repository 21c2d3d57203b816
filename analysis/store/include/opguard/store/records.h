// The rows of a trace database (schemas/trace.sql), as plain structs.
// Meaning of every field: schemas/trace.md. Ids are 1-based; 0 means "none".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace opguard::store {

enum class Phase : std::uint8_t { kOther = 0, kForward = 1, kBackward = 2, kOptimizer = 3 };

enum SchemaTrait : std::uint32_t {
  kDraws = 1,
  kWrites = 2,
  kMayView = 4,
  kNondeterministic = 8,
  kPointwise = 16,
};

enum OpFlag : std::uint32_t { kThrew = 1, kRecompute = 2, kInnerCall = 4, kCompiledGraph = 8 };

enum class TensorState : std::uint8_t {
  kFingerprinted = 0,
  kTrusted = 1,
  kView = 2,
  kUnreadable = 3,
};

struct LaneRow {
  std::int64_t id;
  std::string name;
};
struct SchemaRow {
  std::int64_t id;
  std::string name, overload, signature;
  std::uint32_t traits;
};
struct TextRow {  // tables arguments and inside
  std::int64_t id;
  std::string text;
};
struct SlotRow {
  std::int64_t id;
  std::string role;  // "in", "out", "mut"
  std::int32_t position;
  std::int32_t item;  // index in a tensor list, -1 for a single tensor
};
struct GeometryRow {
  std::int64_t id;
  std::string dtype, device, sizes, strides;
  std::int64_t storage_offset;  // elements
  std::string layout;
};
struct ModuleRow {
  std::int64_t id;
  std::string name, class_name;
};
struct SourceRow {
  std::int64_t id;
  std::string path, sha256;
  std::int64_t bytes;  // of the uncompressed text
  std::string text;    // uncompressed; the store compresses and decompresses; empty if too large
};
struct FrameRow {
  std::int64_t id;
  std::string path;
  std::int64_t line;
  std::string function;
  std::int64_t source;
};
struct StackRow {
  std::int64_t id, parent, frame;
};
struct StepRow {
  std::int64_t id, first_op;
};
struct NodeRow {
  std::int64_t id;
  std::string name;
  std::int64_t forward_op;
};
struct StorageRow {
  std::int64_t id, bytes, first_op, alias_of;
};
struct OpRow {
  std::int64_t id;
  std::int64_t lane;
  Phase phase;
  std::int64_t schema, arguments, module, stack, node, inside, parent;
  std::int64_t first_tensor;
  std::int32_t tensors;
  std::uint32_t flags;
};
struct TensorRow {
  std::int64_t id, op;
  std::int64_t slot, geometry, storage;
  TensorState state;
  bool has_fingerprint;
  std::uint64_t fingerprint, unordered;
};
struct StatisticRow {
  std::int64_t tensor;
  std::int64_t nans, infs, zeros;
  std::optional<double> minimum, maximum;
};
struct RngRow {
  std::int64_t op;
  std::string generator;
  std::uint64_t seed, state_before, state_after;
};
struct GapRow {
  std::int64_t id, first_step, last_step;
  std::string reason;
};
struct NoteRow {
  std::int64_t id, op;
  std::string code, text;
};
struct KeyValue {
  std::string key, value;
};

// Rows gathered by a producer and written together. Within a batch and across batches, ids of one
// table ascend, except op and tensor rows of different lanes, which may interleave.
struct Batch {
  std::vector<LaneRow> lanes;
  std::vector<SchemaRow> schemas;
  std::vector<TextRow> arguments, insides;
  std::vector<SlotRow> slots;
  std::vector<GeometryRow> geometries;
  std::vector<ModuleRow> modules;
  std::vector<SourceRow> sources;
  std::vector<FrameRow> frames;
  std::vector<StackRow> stacks;
  std::vector<StepRow> steps;
  std::vector<NodeRow> nodes;
  std::vector<StorageRow> storages;
  std::vector<OpRow> ops;
  std::vector<TensorRow> tensors;
  std::vector<StatisticRow> statistics;
  std::vector<RngRow> rngs;
  std::vector<GapRow> gaps;
  std::vector<NoteRow> notes;
  std::vector<KeyValue> trace, environment;  // upserted by key

  bool empty() const;
  void clear();  // keeps capacity
};

}  // namespace opguard::store
