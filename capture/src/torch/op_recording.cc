#include "op_recording.h"

#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>

#include "recorder.h"
#include "tensor_recording.h"
#include "tensors.h"
#include "values.h"

namespace opguard::capture {
namespace {

using Values = c10::ArrayRef<c10::IValue>;
constexpr std::size_t kMostInsideCalls = 4096;
constexpr std::size_t kMostCachedTexts = 1 << 16;

// Calls `visit(tensor, position, item)` for every tensor that is a record.
template <typename Visit>
void ForEachTensor(Values values, const Visit& visit) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const c10::IValue& value = values[i];
    const auto position = static_cast<std::int32_t>(i);
    if (value.isTensor()) {
      if (HoldsTensors(value)) visit(*value.toTensor().unsafeGetTensorImpl(), position, -1);
    } else if (value.isList()) {
      std::int32_t item = 0;
      for (const c10::IValue& element : value.toListRef()) {
        if (element.isTensor() && element.toTensor().defined()) {
          visit(*element.toTensor().unsafeGetTensorImpl(), position, item);
        }
        ++item;
      }
    }
  }
}

ArgumentsText& TextOf(Lane& lane, const OperatorFacts& facts, Values arguments) {
  Hasher hasher(reinterpret_cast<std::uintptr_t>(&facts));
  for (const c10::IValue& value : arguments) HashValue(hasher, value);
  const Hash128 key = hasher.Finish();
  if (ArgumentsText** known = lane.arguments.Find(key)) return **known;
  ArgumentsText& fresh = lane.argument_texts.emplace_back();
  for (std::size_t i = 0; i < arguments.size() && i < facts.arguments.size(); ++i) {
    if (HoldsTensors(arguments[i])) continue;
    if (!fresh.text.empty()) fresh.text += '\n';
    fresh.text += facts.arguments[i].name + '=';
    AppendValue(fresh.text, arguments[i], facts.arguments[i].kind);
  }
  lane.arguments.Insert(key, &fresh);
  return fresh;
}

std::int64_t ArgumentsId(Recorder& recorder, Lane& lane, const OperatorFacts& facts,
                         Values arguments) {
  ArgumentsText& entry = TextOf(lane, facts, arguments);
  if (entry.id == 0 && !entry.text.empty()) entry.id = recorder.catalogue.Arguments(entry.text);
  return entry.id;
}

void CaptureGenerator(Call& call, Values arguments) {
  c10::GeneratorImpl* generator = nullptr;
  for (const c10::IValue& value : arguments) {
    if (value.isGenerator()) generator = value.toGenerator().unsafeGetGeneratorImpl();
  }
  if (generator == nullptr) generator = DefaultCpuGenerator();
  if (!CanRead(*generator)) return;
  c10::raw::intrusive_ptr::incref(generator);
  call.generator = generator;
  call.generator_before = StateOf(*generator);
}

void KeepWritten(Lane& lane, const Call& call, Values arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!call.facts->arguments[i].written) continue;
    ForEachTensor(arguments.slice(i, 1),
                  [&](c10::TensorImpl& tensor, std::int32_t, std::int32_t item) {
                    c10::raw::intrusive_ptr::incref(&tensor);
                    lane.written.push_back({&tensor, static_cast<std::int32_t>(i), item});
                  });
  }
}

std::int64_t NodeId(Recorder& recorder, Lane& lane) {
  if (lane.nodes.empty()) return 0;
  OpenNode& node = lane.nodes.back();
  if (node.id != 0) return node.id;
  constexpr std::string_view kPrefix = "autograd::engine::evaluate_function: ";
  std::string_view name = node.function->name();
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  Lane* forward =
      node.forward_thread == lane.thread ? &lane : recorder.LaneOfThread(node.forward_thread);
  const std::int64_t forward_op = forward == nullptr ? 0 : forward->forward_ops.Get(node.sequence);
  node.id = recorder.catalogue.AddNode(std::string(name), forward_op);
  return node.id;
}

bool IsRecompute(const Lane& lane) {
  const OpenNode& node = lane.nodes.back();
  return lane.modules.size() > node.modules || (c10::GradMode::is_enabled() && !node.grad_mode);
}

void SetPlace(Recorder& recorder, Lane& lane, Call& call) {
  using store::Phase;
  call.module = lane.modules.empty() ? 0 : lane.modules.back();
  call.node = NodeId(recorder, lane);
  if (call.node != 0) {
    const bool recompute = IsRecompute(lane);
    call.phase = recompute ? Phase::kForward : Phase::kBackward;
    if (recompute) call.flags |= store::kRecompute;
  } else if (lane.optimizer_events > 0) {
    const bool closure = lane.modules.size() > lane.optimizer_modules;
    call.phase = closure ? Phase::kForward : Phase::kOptimizer;
  } else if (!lane.modules.empty()) {
    call.phase = Phase::kForward;
  }
  if (call.parent != 0) call.phase = lane.calls[lane.open_op - 1].phase;
  if (lane.wrappers > 0) call.flags |= store::kInnerCall;
}

std::int64_t InsideId(Recorder& recorder, Lane& lane) {
  if (lane.inside_calls == 0) return 0;
  const Hash128 key = lane.inside_hash.Finish();
  if (const std::int64_t* known = lane.insides.Find(key)) return *known;
  std::string text;
  for (const InsideCall& call : lane.inside) {
    if (!text.empty()) text += '\n';
    text.append(call.depth, ' ');
    text += call.facts->full_name + '(';
    for (const char c : call.arguments->text) {
      if (c == '\n') {
        text += ", ";
      } else {
        text += c;
      }
    }
    text += ')';
  }
  const auto more = lane.inside_calls - static_cast<std::int64_t>(lane.inside.size());
  if (more > 0) text += "\n... " + std::to_string(more) + " more";
  const std::int64_t id = recorder.catalogue.Inside(text);
  lane.insides.Insert(key, id);
  return id;
}

void AddRngRow(Lane& lane, const Call& call) {
  if (call.generator == nullptr) return;
  const GeneratorState after = StateOf(*call.generator);
  if (after.digest == call.generator_before.digest) return;  // it did not draw after all
  lane.rows.rngs.push_back({call.op, GeneratorName(*call.generator), after.seed,
                            call.generator_before.digest, after.digest});
}

void AddRows(Recorder& recorder, Lane& lane, const Call& call, std::int64_t inside) {
  const auto count = lane.tensors.size() - call.tensors;
  if (!recorder.Admit(static_cast<std::int64_t>(count) + 1)) return;
  const std::int64_t first = recorder.NewTensors(static_cast<std::int64_t>(count));
  const std::lock_guard lock(lane.rows.mutex);
  lane.rows.ops.push_back({call.op, lane.id, call.phase, call.facts->schema, call.arguments,
                           call.module, call.stack, call.node, inside, call.parent, first,
                           static_cast<std::int32_t>(count), call.flags});
  std::int64_t id = first;
  for (std::size_t i = call.tensors; i < lane.tensors.size(); ++i, ++id) {
    TensorRecord& record = lane.tensors[i];
    record.row.id = id;
    record.row.op = call.op;
    lane.rows.tensors.push_back(record.row);
    if (!record.has_statistics) continue;
    const Statistics& s = record.statistics;
    lane.rows.statistics.push_back({id, s.nans, s.infs, s.zeros,
                                    s.has_range ? std::optional<double>(s.minimum) : std::nullopt,
                                    s.has_range ? std::optional<double>(s.maximum) : std::nullopt});
  }
  AddRngRow(lane, call);
}

bool MakesFake(Values results) {
  bool fake = false;
  ForEachTensor(results, [&](c10::TensorImpl& tensor, std::int32_t, std::int32_t) {
    fake = fake || KindOf(tensor) == TensorKind::kFake;
  });
  return fake;
}

}  // namespace

void StartOp(Recorder& recorder, Lane& lane, Call& call, Values arguments) {
  const OperatorFacts& facts = *call.facts;
  if (recorder.config.stacks) call.stack = recorder.stacks.Gather(lane.last_stack);
  call.op = recorder.NewOp();
  call.parent = lane.open_op == 0 ? 0 : lane.calls[lane.open_op - 1].op;
  SetPlace(recorder, lane, call);
  if (call.parent == 0) {
    if (lane.argument_texts.size() > kMostCachedTexts) {
      lane.arguments.Clear();
      lane.insides.Clear();  // its keys are made of the texts' addresses
      lane.argument_texts.clear();
    }
    lane.inside.clear();
    lane.inside_hash = Hasher();
    lane.inside_calls = 0;
  }
  call.arguments = ArgumentsId(recorder, lane, facts, arguments);
  if (facts.draws) CaptureGenerator(call, arguments);
  if (facts.writes) KeepWritten(lane, call, arguments);
  ForEachTensor(arguments, [&](c10::TensorImpl& tensor, std::int32_t position, std::int32_t item) {
    call.requires_grad = call.requires_grad || tensor.requires_grad();
    RecordInput(recorder, lane, call, tensor, {Role::kIn, position, item});
  });
  call.requires_grad = call.requires_grad && c10::GradMode::is_enabled();
}

void EndOp(Recorder& recorder, Lane& lane, Call& call, Values results, bool threw) {
  if (!threw && MakesFake(results)) {
    recorder.CountSkipped(kSkipFake);
    recorder.ReturnOp(call.op);
    return;
  }
  if (threw) call.flags |= store::kThrew;
  for (std::size_t i = call.written; i < lane.written.size(); ++i) {
    const c10::TensorImpl& tensor = *lane.written[i].tensor;
    if (KindOf(tensor) != TensorKind::kPlain) continue;
    recorder.storages.MarkWritten(tensor);
    lane.written_storages.push_back(StorageOf(tensor));
  }
  bool requires_grad = false;
  ForEachTensor(results, [&](c10::TensorImpl& tensor, std::int32_t position, std::int32_t item) {
    requires_grad = requires_grad || tensor.requires_grad();
    RecordOutput(recorder, lane, call, tensor, {Role::kOut, position, item});
  });
  for (std::size_t i = call.written; i < lane.written.size(); ++i) {
    const WrittenArgument argument = lane.written[i];
    bool is_result = false;
    ForEachTensor(results, [&](c10::TensorImpl& tensor, std::int32_t, std::int32_t) {
      is_result = is_result || &tensor == argument.tensor;
    });
    if (is_result) continue;
    RecordOutput(recorder, lane, call, *argument.tensor,
                 {Role::kMutated, argument.position, argument.item});
  }
  if (call.phase == store::Phase::kOther && requires_grad && c10::GradMode::is_enabled()) {
    call.phase = store::Phase::kForward;
  }
  const bool outermost = call.parent == 0;
  if (outermost && call.phase == store::Phase::kForward && !(call.flags & store::kRecompute)) {
    recorder.steps.OnForward();
  }
  AddRows(recorder, lane, call, outermost ? InsideId(recorder, lane) : 0);
}

void StartInner(Recorder& recorder, Lane& lane, const Call& call, Values arguments) {
  const OperatorFacts& facts = *call.facts;
  const std::size_t depth = lane.calls.size() - lane.open_op - 1;
  const ArgumentsText& text = TextOf(lane, facts, arguments);
  lane.inside_hash.Add(static_cast<std::uint64_t>(depth) ^
                       reinterpret_cast<std::uintptr_t>(&facts));
  lane.inside_hash.Add(reinterpret_cast<std::uintptr_t>(&text));
  if (lane.inside.size() < kMostInsideCalls) lane.inside.push_back({depth, &facts, &text});
  ++lane.inside_calls;

  Call& op = lane.calls[lane.open_op - 1];
  if (facts.draws && op.generator == nullptr) CaptureGenerator(op, arguments);
  if (!facts.writes) return;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!facts.arguments[i].written) continue;
    ForEachTensor(arguments.slice(i, 1), [&](c10::TensorImpl& tensor, std::int32_t, std::int32_t) {
      if (KindOf(tensor) != TensorKind::kPlain) return;
      recorder.storages.MarkWritten(tensor);
      lane.written_storages.push_back(StorageOf(tensor));
    });
  }
}

void ReleaseCall(Lane& lane, Call& call) {
  if (call.generator != nullptr) c10::raw::intrusive_ptr::decref(call.generator);
  call.generator = nullptr;
  if (call.kind != CallKind::kOp) return;
  lane.tensors.resize(std::min(lane.tensors.size(), call.tensors));
  while (lane.written.size() > call.written) {
    c10::TensorImpl* tensor = lane.written.back().tensor;
    lane.written.pop_back();
    c10::raw::intrusive_ptr::decref(tensor);
  }
  if (call.parent == 0) lane.written_storages.clear();
}

}  // namespace opguard::capture
