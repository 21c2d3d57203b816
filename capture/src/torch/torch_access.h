// The few private members of torch's classes that capture reads.
#pragma once

#include <cstddef>

namespace at {
struct RecordFunction;
}
namespace c10 {
struct FunctionSchema;
}
namespace torch {
struct CapturedTraceback;
}

namespace opguard::capture {

// The schema of a call, or null for a call by name only. RecordFunction::operator_schema() copies
// the schema; this is the operator's own, alive as long as the operator is registered.
const c10::FunctionSchema* SchemaOf(const at::RecordFunction& call);

struct PythonFrame {
  void* code;  // PyCodeObject*
  int instruction;
};

// The frames of a gathered traceback, leaf first. Owned by the traceback.
std::size_t FrameCount(const torch::CapturedTraceback& traceback);
PythonFrame FrameAt(const torch::CapturedTraceback& traceback, std::size_t index);

}  // namespace opguard::capture
