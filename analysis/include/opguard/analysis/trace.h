// A pair of traces in memory, as columns, with one shared dictionary.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "opguard/store/records.h"
#include "opguard/store/result.h"
#include "opguard/store/trace_reader.h"

namespace opguard::analysis {

using store::Phase;
using store::TensorState;

enum class Side : std::uint8_t { kA = 0, kB = 1 };

// Interned facts shared by both sides of a pair: equal content has the same id on both sides, so
// that ids can be compared instead of text. Element 0 of each vector is the empty row.
// A schema is identified by its name and overload alone: the traits of both sides are merged and
// the first side's signature is kept, so that an operator whose signature changed between two
// torch versions still has one id. Sizes and strides that are no `[n, ...]` list leave `numel` 0.
struct Geometry {
  store::GeometryRow row;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t numel = 0;
  std::int32_t item_bytes = 0;  // 0 for a dtype that is not known
  std::uint32_t shape_id = 0;   // equal for equal sizes
  std::uint32_t dtype_id = 0;
};
struct Dictionary {
  std::vector<store::LaneRow> lanes;
  std::vector<store::SchemaRow> schemas;
  std::vector<store::TextRow> arguments, insides;
  std::vector<store::SlotRow> slots;
  std::vector<Geometry> geometries;
  std::vector<store::ModuleRow> modules;
};

// One side's rank as columns; index i is the i-th op in ascending op id (0-based).
struct Trace {
  // The file's own ids: use for stacks, frames, steps, gaps, notes, trace and environment. The
  // tables that the Dictionary holds (lanes ... modules) are released and empty here.
  store::TraceFacts facts;
  std::string path;

  std::vector<std::int64_t> op_id;
  std::vector<std::uint16_t> lane;
  std::vector<Phase> phase;
  std::vector<std::uint32_t> step;
  std::vector<std::uint32_t> schema, arguments, module, inside;  // Dictionary ids
  std::vector<std::uint32_t> stack;                              // this file's stack ids
  std::vector<std::uint32_t> node;                               // index into nodes, 0 none
  std::vector<std::uint8_t> flags;
  std::vector<std::uint64_t> first_tensor;  // index into the tensor columns; size ops + 1

  // Records are grouped by op, in the op's own order, whatever order the lanes wrote them in.
  std::vector<std::uint32_t> tensor_slot, tensor_geometry, tensor_storage;
  std::vector<TensorState> tensor_state;
  std::vector<std::uint64_t> fingerprint, unordered;  // valid unless state is kView/kUnreadable
  std::vector<std::int64_t> tensor_id;                // the file's ids

  std::vector<store::NodeRow> nodes;        // element [id]; forward_op is a file op id
  std::vector<store::StorageRow> storages;  // element [id]
  std::vector<store::RngRow> rngs;          // ascending op, a file op id

  std::size_t ops() const { return op_id.size(); }
  std::size_t tensors() const { return tensor_slot.size(); }
  // Index of the op with this file id, or -1.
  std::int64_t IndexOf(std::int64_t op_id) const;
};

struct TracePair {
  Dictionary dictionary;
  Trace a, b;
  const Trace& side(Side s) const { return s == Side::kA ? a : b; }
};

// Reads both files (in two threads). Errors as TraceReader::Open, naming the side's path.
[[nodiscard]] Result<std::unique_ptr<TracePair>> LoadPair(const std::string& path_a,
                                                          const std::string& path_b);

// The module a reader expects for an op: its own, or for a backward op that of its forward op.
std::uint32_t ModuleOf(const Trace& trace, std::size_t op);

}  // namespace opguard::analysis
