#include "tools/side_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace opguard::tools {
namespace {

template <typename Row>
const Row& RowOr(const std::vector<Row>& rows, std::int64_t id) {
  const bool known = id > 0 && static_cast<std::size_t>(id) < rows.size();
  return rows[known ? static_cast<std::size_t>(id) : 0];
}

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

SideReader::SideReader(std::string path, std::unique_ptr<store::TraceReader> reader,
                       store::TraceFacts facts)
    : path_(std::move(path)), reader_(std::move(reader)), facts_(std::move(facts)) {}

Result<std::unique_ptr<SideReader>> SideReader::Open(const std::string& path) {
  OPGUARD_ASSIGN(auto reader, store::TraceReader::Open(path));
  OPGUARD_ASSIGN(store::TraceFacts facts, reader->ReadFacts());
  return std::unique_ptr<SideReader>(new SideReader(path, std::move(reader), std::move(facts)));
}

Result<OpView> SideReader::OpAt(std::int64_t index) const {
  OPGUARD_ASSIGN(const std::int64_t id, reader_->OpIdAt(index));
  return OpWithId(id);
}

Result<OpView> SideReader::OpWithId(std::int64_t id) const {
  OpView view;
  OPGUARD_ASSIGN(view.row, reader_->Op(id));
  const store::SchemaRow& schema = RowOr(facts_.schemas, view.row.schema);
  view.name = QualifiedName(schema);
  view.signature = schema.signature;
  view.arguments = RowOr(facts_.arguments, view.row.arguments).text;
  view.inside = RowOr(facts_.insides, view.row.inside).text;
  view.module = RowOr(facts_.modules, view.row.module).name;
  view.module_class = RowOr(facts_.modules, view.row.module).class_name;
  view.lane = RowOr(facts_.lanes, view.row.lane).name;
  view.frames = Frames(view.row.stack);
  for (std::size_t s = 1; s < facts_.steps.size() && facts_.steps[s].first_op <= id; ++s) {
    view.step = facts_.steps[s].id;
  }
  if (view.row.node > 0) {
    if (auto node = reader_->Node(view.row.node)) {
      view.node = node->name;
      view.forward_op = node->forward_op;
    }
  }
  OPGUARD_ASSIGN(const std::vector<store::TensorRow> tensors, reader_->TensorsOf(view.row));
  for (const store::TensorRow& row : tensors) {
    TensorView tensor;
    const store::SlotRow& slot = RowOr(facts_.slots, row.slot);
    const store::GeometryRow& geometry = RowOr(facts_.geometries, row.geometry);
    tensor.slot = SlotText(slot);
    tensor.argument = ArgumentName(schema.signature, slot);
    tensor.dtype = geometry.dtype;
    tensor.device = geometry.device;
    tensor.sizes = geometry.sizes;
    tensor.strides = geometry.strides;
    tensor.layout = geometry.layout;
    tensor.storage_offset = geometry.storage_offset;
    tensor.storage = row.storage;
    tensor.row = row;
    if (auto statistic = reader_->Statistic(row.id)) tensor.statistic = *statistic;
    view.tensors.push_back(std::move(tensor));
  }
  return view;
}

std::vector<store::FrameRow> SideReader::Frames(std::int64_t stack) const {
  return FramesOf(facts_, stack);
}

std::vector<store::FrameRow> FramesOf(const store::TraceFacts& facts, std::int64_t stack) {
  std::vector<store::FrameRow> frames;
  constexpr std::size_t kMaxDepth = 1000;
  while (stack > 0 && static_cast<std::size_t>(stack) < facts.stacks.size() &&
         frames.size() < kMaxDepth) {
    const store::StackRow& row = facts.stacks[static_cast<std::size_t>(stack)];
    frames.push_back(RowOr(facts.frames, row.frame));
    stack = row.parent;
  }
  return frames;
}

std::string QualifiedName(const store::SchemaRow& schema) {
  return schema.overload.empty() ? schema.name : schema.name + "." + schema.overload;
}

std::string SlotText(const store::SlotRow& slot) {
  return slot.item < 0 ? fmt::format("{}{}", slot.role, slot.position)
                       : fmt::format("{}{}[{}]", slot.role, slot.position, slot.item);
}

std::string ArgumentName(const std::string& signature, const store::SlotRow& slot) {
  if (slot.role == "out") return {};
  const std::size_t open = signature.find('(');
  if (open == std::string::npos) return {};
  // Splits "Tensor(a!) self, float p=0.5, *, int[] dims=[1, 2]) -> ..." at top-level commas.
  int depth = 0;
  std::int32_t position = 0;
  std::size_t start = open + 1;
  for (std::size_t i = start; i < signature.size(); ++i) {
    const char c = signature[i];
    if (c == '(' || c == '[') ++depth;
    const bool end = (c == ')' || c == ',') && depth == 0;
    if ((c == ')' || c == ']') && !end) --depth;
    if (!end) continue;
    std::string argument = signature.substr(start, i - start);
    start = i + 1;
    argument.erase(0, argument.find_first_not_of(' '));
    if (argument == "*" || argument.empty()) {
      if (c == ')') break;
      continue;
    }
    if (position++ == slot.position) {
      argument = argument.substr(0, argument.find('='));
      return argument.substr(argument.rfind(' ') + 1);
    }
    if (c == ')') break;
  }
  return {};
}

const char* PhaseName(store::Phase phase) {
  switch (phase) {
    case store::Phase::kForward:
      return "forward";
    case store::Phase::kBackward:
      return "backward";
    case store::Phase::kOptimizer:
      return "optimizer";
    case store::Phase::kOther:
      return "other";
  }
  return "other";
}

bool IsInstalledFrame(const store::FrameRow& frame) {
  return Contains(frame.path, "/site-packages/") || Contains(frame.path, "/dist-packages/");
}

bool IsInternalFrame(const store::FrameRow& frame) {
  const std::string& path = frame.path;
  if (path.empty() || path.front() == '<') return path != "<stdin>" && path != "<string>";
  if (IsInstalledFrame(frame)) {
    return Contains(path, "-packages/torch/") || Contains(path, "-packages/opguard");
  }
  if (Contains(path, "/lib/python3")) return true;  // the standard library
  return Contains(path, "/torch/nn/modules/") || Contains(path, "/torch/optim/") ||
         Contains(path, "/torch/autograd/") || Contains(path, "/torch/_tensor.py");
}

int ShownFrame(const std::vector<store::FrameRow>& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!IsInternalFrame(frames[i])) return static_cast<int>(i);
  }
  return frames.empty() ? -1 : 0;
}

int UserFrame(const std::vector<store::FrameRow>& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!IsInternalFrame(frames[i]) && !IsInstalledFrame(frames[i])) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace opguard::tools
