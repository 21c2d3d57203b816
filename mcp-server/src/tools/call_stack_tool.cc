#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tools/answer.h"
#include "tools/tools.h"

namespace opguard::tools {
namespace {

using Frames = std::vector<store::FrameRow>;

struct Stack {
  Json frames = Json::array();
  std::size_t hidden = 0;
};

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool SameFunction(const store::FrameRow& a, const store::FrameRow& b) {
  return a.function == b.function && FileName(a.path) == FileName(b.path);
}

Json FrameJson(const store::FrameRow& frame, const OpId& op, std::size_t depth) {
  return Json{{"frame_id", FrameId{op, static_cast<std::uint32_t>(depth)}.Text()},
              {"path", frame.path},
              {"line", frame.line},
              {"function", frame.function}};
}

// Frames with the machinery hidden; all of them where nothing would be left.
Stack ShownFrames(const Frames& frames, const OpId& op, bool include_internal) {
  const bool only_internal = UserFrame(frames) < 0 && ShownFrame(frames) == 0 && !frames.empty() &&
                             IsInternalFrame(frames[0]);
  Stack stack;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!include_internal && !only_internal && IsInternalFrame(frames[i])) {
      ++stack.hidden;
    } else {
      stack.frames.push_back(FrameJson(frames[i], op, i));
    }
  }
  return stack;
}

// Number of outermost frames that both stacks share: same function of the same file name (paths
// of two worktrees differ) at the same line.
std::size_t CommonRoot(const Frames& a, const Frames& b) {
  std::size_t common = 0;
  while (common < a.size() && common < b.size()) {
    const store::FrameRow& x = a[a.size() - 1 - common];
    const store::FrameRow& y = b[b.size() - 1 - common];
    if (!SameFunction(x, y) || x.line != y.line) break;
    ++common;
  }
  return common;
}

// B's frames (A's where B has none), each marked `both` or with the other side's line.
Stack MergedFrames(const Frames& a, const Frames& b, const OpId& op, bool include_internal) {
  Stack stack = ShownFrames(b, op, include_internal);
  const std::size_t common = CommonRoot(a, b);
  for (Json& frame : stack.frames) {
    const auto depth = ParseFrameId(frame.at("frame_id").get<std::string>())->depth;
    const std::size_t from_root = b.size() - 1 - depth;
    if (from_root < common) {
      frame["side"] = "both";
      continue;
    }
    frame["side"] = "b";
    if (from_root < a.size()) {
      const store::FrameRow& other = a[a.size() - 1 - from_root];
      frame["a"] = Json{{"path", other.path}, {"line", other.line}, {"function", other.function}};
    }
    if (from_root == common) frame["parts_here"] = true;
  }
  return stack;
}

Frames ForwardFrames(const SideReader& reader, const OpView& op) {
  if (op.forward_op <= 0) return {};
  auto forward = reader.OpWithId(op.forward_op);
  return forward ? forward->frames : Frames{};
}

std::string Status(const Frames* a, const Frames* b) {
  if ((!a || a->empty()) && (!b || b->empty())) return "not_recorded";
  if (!a || !b) return "one_side";
  return CommonRoot(*a, *b) == a->size() && a->size() == b->size() ? "same" : "parted";
}

std::string Shown(const Json& frames) {
  if (frames.empty()) return "no frame was recorded";
  const Json& top = frames[0];
  return fmt::format("{} ({}:{})", top.at("function").get<std::string>(),
                     top.at("path").get<std::string>(), top.at("line").get<std::int64_t>());
}

std::string Summary(const std::string& status, const OpView& op, const Json& frames) {
  const std::string called = fmt::format("{} was called from {}", op.name, Shown(frames));
  if (status == "same") return called + "; both sides' stacks are equal.";
  if (status == "one_side") return called + "; the other side has no such op.";
  if (status == "not_recorded") {
    return op.name + " has no Python stack: it ran on a thread without Python, or stacks were off.";
  }
  return called + "; the two sides' stacks part at the frame marked parts_here.";
}

}  // namespace

Result<Json> CallStack(Workspace& workspace, const Json& arguments) {
  OPGUARD_ASSIGN(const OpId id, ParseOpId(arguments.at("op_id").get<std::string>()));
  OPGUARD_ASSIGN(analysis::Pair pair,
                 workspace.store().Open(arguments.at("pair_id").get<std::string>()));
  OPGUARD_ASSIGN(const auto both, workspace.FindOp(pair, id));
  const std::string side = arguments.at("side").get<std::string>();
  const bool internal = arguments.at("include_internal").get<bool>();
  const OpView* a = side == "b" ? nullptr : both.a.get();
  const OpView* b = side == "a" ? nullptr : both.b.get();
  if (!a && !b) {
    return Fail(ErrorCode::kNotFound, fmt::format("{} does not exist on side {}.", id.Text(), side),
                fmt::format("call call_stack with side {}", side == "a" ? "b" : "a"));
  }
  const OpView& shown = b ? *b : *a;
  const std::string status = Status(a ? &a->frames : nullptr, b ? &b->frames : nullptr);
  const Stack stack = a && b ? MergedFrames(a->frames, b->frames, id, internal)
                             : ShownFrames(shown.frames, id, internal);
  const SideReader& reader = b ? *both.reader_b : *both.reader_a;

  Json answer{{"status", status},
              {"summary", Summary(status, shown, stack.frames)},
              {"op_id", id.Text()},
              {"op", shown.name},
              {"module", shown.module},
              {"frames", stack.frames},
              {"hidden_frames", stack.hidden}};
  if (shown.forward_op > 0) {
    // Frame ids name a frame by its own op, and the forward op has an id only through the
    // alignment.
    Json forward = ShownFrames(ForwardFrames(reader, shown), id, internal).frames;
    for (Json& frame : forward) frame.erase("frame_id");
    answer["autograd_node"] = shown.node;
    answer["forward_frames"] = std::move(forward);
  }
  answer["warnings"] = Json::array();
  answer["next"] = Json::array();
  if (!stack.frames.empty()) {
    Json call{{"pair_id", pair.id()}, {"frame_id", stack.frames[0].at("frame_id")}};
    if (!b) call["side"] = "a";
    answer["next"].push_back(Suggest("source_at", std::move(call), "the line that called the op"));
  }
  return answer;
}

}  // namespace opguard::tools
