// What one thread is doing: its open calls, autograd nodes, modules, and its caches.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "../write/row_buffer.h"
#include "forward_ops.h"
#include "hash.h"
#include "operator_facts.h"
#include "opguard/capture/fingerprint.h"
#include "opguard/store/records.h"
#include "rng.h"
#include "stacks.h"

namespace at {
struct RecordFunction;
}
namespace c10 {
struct GeneratorImpl;
struct StorageImpl;
struct TensorImpl;
}  // namespace c10

namespace opguard::capture {

enum class CallKind : std::uint8_t {
  kOp,
  kInner,      // a call inside an op, recorded by name only
  kContainer,  // no schema: what runs inside are ops
  kWrapper,    // tensors without plain memory: what runs inside are ops
  kSkipped,    // nothing inside is recorded
  kOutside,    // an outermost call outside the window of steps; nothing inside is recorded
};

// A dispatcher call that has started and not ended.
struct Call {
  const at::RecordFunction* function = nullptr;
  CallKind kind = CallKind::kContainer;
  bool requires_grad = false;  // an input does, and a graph is being built
  const OperatorFacts* facts = nullptr;
  std::int64_t op = 0, parent = 0, arguments = 0, module = 0, stack = 0, node = 0;
  std::int64_t sequence = -1;  // of the autograd node that a container's first op stands for
  store::Phase phase = store::Phase::kOther;
  std::uint32_t flags = 0;
  int exceptions = 0;            // in flight when the call started
  std::size_t enclosing_op = 0;  // lane.open_op before this call
  // Where this call's part of the lane's vectors begins.
  std::size_t tensors = 0, written = 0, written_storages = 0;
  // Generator that the op draws from, once it is known to draw; retained.
  c10::GeneratorImpl* generator = nullptr;
  GeneratorState generator_before;
};

struct OpenNode {
  const at::RecordFunction* function = nullptr;
  std::int64_t sequence = -1;
  std::uint64_t forward_thread = 0;
  std::size_t modules = 0;  // depth of module calls when it started
  bool grad_mode = false;   // a graph of the backward pass itself is being built
  std::int64_t id = 0;      // assigned at the first op inside
  bool entered = false;     // the node's own event was seen inside the engine's
};

struct TensorRecord {
  store::TensorRow row;
  bool is_input = false, has_statistics = false;
  Statistics statistics;
};

// An argument that the op writes; retained until the call ends.
struct WrittenArgument {
  c10::TensorImpl* tensor = nullptr;
  std::int32_t position = 0, item = -1;
};

struct ArgumentsText {
  std::string text;
  std::int64_t id = 0;  // assigned when an op has these arguments
};

struct InsideCall {
  std::size_t depth = 0;
  const OperatorFacts* facts = nullptr;
  const ArgumentsText* arguments = nullptr;
};

// Used by its own thread only, but for `rows` and `forward_ops`, which have locks of their own.
struct Lane {
  std::int64_t id = 0;
  std::uint64_t thread = 0;  // torch's logical thread id

  std::vector<Call> calls;
  std::vector<OpenNode> nodes;
  std::vector<std::int64_t> modules;
  std::size_t open_op = 0;            // 1 + index in calls of the innermost op; 0 outside ops
  std::size_t wrappers = 0;           // open calls of kind kWrapper
  std::size_t optimizer_events = 0;   // open Optimizer.step events
  std::size_t optimizer_modules = 0;  // depth of module calls when the outermost one began
  std::size_t suspensions = 0, suspend_reason = 0;

  // Stacks parallel to the open ops.
  std::vector<TensorRecord> tensors;
  std::vector<WrittenArgument> written;
  std::vector<const c10::StorageImpl*> written_storages;
  std::vector<InsideCall> inside;
  Hasher inside_hash;
  std::int64_t inside_calls = 0;

  // Caches of ids.
  std::unordered_map<const c10::FunctionSchema*, const OperatorFacts*> operators;
  FlatMap<ArgumentsText*> arguments;
  std::deque<ArgumentsText> argument_texts;
  FlatMap<std::int64_t> geometries, slots, insides;
  Stacks::Last last_stack;

  ForwardOps forward_ops;
  RowBuffer rows;
};

}  // namespace opguard::capture
