#include "callbacks.h"

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/core/TensorImpl.h>

#include <exception>
#include <string_view>

#include "op_recording.h"
#include "session.h"
#include "tensors.h"
#include "torch_access.h"

namespace opguard::capture {
namespace {

using Values = c10::ArrayRef<c10::IValue>;
constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";

// A boxed call shows the whole interpreter stack: the call's own values are the last ones.
Values Last(Values values, std::size_t count) {
  return values.size() <= count ? values : values.slice(values.size() - count);
}

TensorKind KindOfArguments(Values arguments) {
  TensorKind kind = TensorKind::kPlain;
  const auto look = [&kind](const c10::IValue& value) {
    if (!value.isTensor() || !value.toTensor().defined() || kind == TensorKind::kFake) return;
    const TensorKind found = KindOf(*value.toTensor().unsafeGetTensorImpl());
    if (found != TensorKind::kPlain) kind = found;
  };
  for (const c10::IValue& value : arguments) {
    if (value.isTensor()) {
      look(value);
    } else if (value.isList()) {
      for (const c10::IValue& item : value.toListRef()) look(item);
    }
  }
  return kind;
}

bool IsForwardCall(const Lane& lane) {
  return !lane.modules.empty() && lane.nodes.empty() &&
         (lane.optimizer_events == 0 || lane.modules.size() > lane.optimizer_modules);
}

// A custom autograd Function's node belongs to the first op of its forward.
void ResolveContainers(Lane& lane, std::int64_t op) {
  for (std::size_t i = lane.calls.size() - 1; i-- > 0;) {
    Call& outer = lane.calls[i];
    if (outer.kind == CallKind::kOp) return;
    if (outer.sequence >= 0) lane.forward_ops.Set(outer.sequence, op);
    outer.sequence = -1;
  }
}

void StartOuterCall(Recorder& recorder, Lane& lane, Call& call, Values arguments) {
  if (lane.open_op == 0) {
    if (IsForwardCall(lane)) recorder.steps.OnForward();
    if (!recorder.steps.Recording()) {
      call.kind = CallKind::kOutside;
      return;
    }
  }
  switch (KindOfArguments(arguments)) {
    case TensorKind::kFake:
      call.kind = CallKind::kSkipped;
      return recorder.CountSkipped(kSkipFake);
    case TensorKind::kWrapper:
      call.kind = CallKind::kWrapper;
      ++lane.wrappers;
      return recorder.CountSkipped(kSkipWrapper);
    case TensorKind::kPlain:
      break;
  }
  call.kind = CallKind::kOp;
  StartOp(recorder, lane, call, arguments);
  lane.open_op = lane.calls.size();
  ResolveContainers(lane, call.op);
}

void StartSchemaCall(Recorder& recorder, Lane& lane, Call& call,
                     const c10::FunctionSchema& schema) {
  call.facts = &recorder.Facts(lane, schema);
  const Values arguments = Last(call.function->inputs(), call.facts->arguments.size());
  if (lane.open_op > 0 && !recorder.config.inner) {
    call.kind = CallKind::kInner;
    StartInner(recorder, lane, call, arguments);
  } else {
    StartOuterCall(recorder, lane, call, arguments);
  }
  const std::int64_t sequence = call.function->seqNr();
  if (sequence >= 0 && lane.open_op > 0) {
    lane.forward_ops.Set(sequence, lane.calls[lane.open_op - 1].op);
  }
}

void StartContainer(Lane& lane, Call& call) {
  call.kind = CallKind::kContainer;
  const std::string_view name = call.function->name();
  if (name.starts_with(kEngine)) {
    lane.nodes.push_back(
        {call.function, -1, 0, lane.modules.size(), c10::GradMode::is_enabled(), 0, false});
  } else {
    call.sequence = call.function->seqNr();
  }
}

void StartCall(Recorder& recorder, Lane& lane, const at::RecordFunction& function) {
  if (lane.suspensions > 0) return recorder.CountSkipped(lane.suspend_reason);
  const bool hidden = !lane.calls.empty() && (lane.calls.back().kind == CallKind::kSkipped ||
                                              lane.calls.back().kind == CallKind::kOutside);
  Call& call = lane.calls.emplace_back();
  call.function = &function;
  call.kind = CallKind::kSkipped;
  call.exceptions = std::uncaught_exceptions();
  call.enclosing_op = lane.open_op;
  call.tensors = lane.tensors.size();
  call.written = lane.written.size();
  call.written_storages = lane.written_storages.size();
  if (hidden) return;
  if (const c10::FunctionSchema* schema = SchemaOf(function)) {
    StartSchemaCall(recorder, lane, call, *schema);
  } else {
    StartContainer(lane, call);
  }
}

bool RequiresGrad(Values results) {
  for (const c10::IValue& value : results) {
    if (value.isTensor() && value.toTensor().defined() &&
        value.toTensor().unsafeGetTensorImpl()->requires_grad()) {
      return true;
    }
  }
  return false;
}

void PopCall(Lane& lane) {
  Call& call = lane.calls.back();
  ReleaseCall(lane, call);
  lane.open_op = call.enclosing_op;
  if (call.kind == CallKind::kWrapper) --lane.wrappers;
  if (!lane.nodes.empty() && lane.nodes.back().function == call.function) lane.nodes.pop_back();
  lane.calls.pop_back();
}

void EndCall(Recorder& recorder, Lane& lane, const at::RecordFunction& function) {
  // An asynchronous call may end on another thread, or after calls that started later.
  std::size_t at = lane.calls.size();
  while (at > 0 && lane.calls[at - 1].function != &function) --at;
  if (at == 0) return;
  while (lane.calls.size() > at) PopCall(lane);
  Call& call = lane.calls.back();
  const Values outputs = function.outputs();
  if (call.kind == CallKind::kOp) {
    const bool threw = std::uncaught_exceptions() > call.exceptions ||
                       (call.facts->returns > 0 && outputs.empty());
    EndOp(recorder, lane, call, threw ? Values() : Last(outputs, call.facts->returns), threw);
  } else if (call.kind == CallKind::kOutside && lane.nodes.empty() && lane.optimizer_events == 0 &&
             c10::GradMode::is_enabled() && RequiresGrad(Last(outputs, call.facts->returns))) {
    recorder.steps.OnForward();
  }
  PopCall(lane);
}

std::unique_ptr<at::ObserverContext> OnStart(const at::RecordFunction& function) {
  Guarded([&](Recorder& recorder, Lane& lane) { StartCall(recorder, lane, function); });
  return nullptr;
}

void OnEnd(const at::RecordFunction& function, at::ObserverContext*) {
  Guarded([&](Recorder& recorder, Lane& lane) { EndCall(recorder, lane, function); });
}

void StartNode(Lane& lane, const at::RecordFunction& function) {
  if (!lane.nodes.empty() && !lane.nodes.back().entered) {
    OpenNode& node = lane.nodes.back();
    std::string_view name = node.function->name();
    if (name.starts_with(kEngine) && name.substr(kEngine.size()) == function.name()) {
      node.entered = true;
      node.id = 0;  // a hook that ran before the node did not know its sequence number
      node.sequence = function.seqNr();
      node.forward_thread = function.forwardThreadId();
      return;
    }
  }
  lane.nodes.push_back({&function, function.seqNr(), function.forwardThreadId(),
                        lane.modules.size(), c10::GradMode::is_enabled(), 0, true});
}

bool IsOptimizerStep(const at::RecordFunction& function) {
  return std::string_view(function.name()).starts_with("Optimizer.step#");
}

std::unique_ptr<at::ObserverContext> OnMarkerStart(const at::RecordFunction& function) {
  Guarded([&](Recorder& recorder, Lane& lane) {
    if (lane.suspensions > 0) return;
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) return StartNode(lane, function);
    if (!IsOptimizerStep(function)) return;
    if (lane.optimizer_events++ == 0) lane.optimizer_modules = lane.modules.size();
    recorder.steps.OnOptimizerBegin();
  });
  return nullptr;
}

void OnMarkerEnd(const at::RecordFunction& function, at::ObserverContext*) {
  Guarded([&](Recorder& recorder, Lane& lane) {
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
      if (!lane.nodes.empty() && lane.nodes.back().function == &function) lane.nodes.pop_back();
      return;
    }
    if (!IsOptimizerStep(function) || lane.optimizer_events == 0) return;
    --lane.optimizer_events;
    recorder.steps.OnOptimizerEnd(recorder.NextOp());
  });
}

at::CallbackHandle calls_handle = at::INVALID_CALLBACK_HANDLE;
at::CallbackHandle markers_handle = at::INVALID_CALLBACK_HANDLE;

}  // namespace

void InstallCallbacks() {
  calls_handle = at::addGlobalCallback(at::RecordFunctionCallback(OnStart, OnEnd)
                                           .needsInputs(true)
                                           .needsOutputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
  markers_handle = at::addGlobalCallback(
      at::RecordFunctionCallback(OnMarkerStart, OnMarkerEnd)
          .scopes({at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
}

void RemoveCallbacks() {
  at::removeCallback(calls_handle);
  at::removeCallback(markers_handle);
}

}  // namespace opguard::capture
