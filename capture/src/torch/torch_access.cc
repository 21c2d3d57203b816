#include "torch_access.h"

#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <variant>

namespace opguard::capture {
namespace {

// Access is not checked in an explicit instantiation; a changed member fails to compile here.
template <typename Tag, typename Tag::Member kMember>
struct Expose {
  friend typename Tag::Member MemberOf(Tag) { return kMember; }
};

struct Function {
  using Member = std::variant<std::string, at::RecordFunction::schema_ref_t> at::RecordFunction::*;
  friend Member MemberOf(Function);
};
struct Frames {
  using Member = std::vector<torch::CapturedTraceback::PyFrame> torch::CapturedTraceback::*;
  friend Member MemberOf(Frames);
};

template struct Expose<Function, &at::RecordFunction::fn_>;
template struct Expose<Frames, &torch::CapturedTraceback::frames_>;

}  // namespace

const c10::FunctionSchema* SchemaOf(const at::RecordFunction& call) {
  const auto* schema = std::get_if<at::RecordFunction::schema_ref_t>(&(call.*MemberOf(Function{})));
  return schema == nullptr ? nullptr : &schema->get();
}

std::size_t FrameCount(const torch::CapturedTraceback& traceback) {
  return (traceback.*MemberOf(Frames{})).size();
}

PythonFrame FrameAt(const torch::CapturedTraceback& traceback, std::size_t index) {
  const auto& frame = (traceback.*MemberOf(Frames{}))[index];
  return {frame.code, frame.lasti};
}

}  // namespace opguard::capture
