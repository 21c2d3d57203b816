#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "render/line_diff.h"
#include "tools/answer.h"
#include "tools/nearest.h"
#include "tools/tools.h"

namespace opguard::tools {
namespace {

using Lines = std::vector<std::string>;

struct Target {
  std::string path;
  std::int64_t line = 0;
  std::string function;
};

Lines SplitLines(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Source {
  std::string status;  // captured, current, missing
  Lines lines;
  std::string warning;
};

// The source as the run saw it. Only files that the trace itself captured are read from disk, and
// only to tell whether they are still the same.
Source FindSource(const Workspace& workspace, const SideReader& reader, const Target& target) {
  Source source;
  auto row = reader.reader().SourceByPath(target.path);
  if (!row || row->text.empty()) {
    source.status = "missing";
    source.warning = fmt::format("the run captured no source of {}", target.path);
    return source;
  }
  source.lines = SplitLines(row->text);
  const auto allowed = workspace.AllowedPath(target.path);
  const auto disk = allowed ? ReadFile(*allowed) : std::nullopt;
  if (disk && *disk == row->text) {
    source.status = "current";
    return source;
  }
  source.status = "captured";
  source.warning = disk ? "the file has changed since the run: these are the lines that ran"
                        : "the file is not readable now: these are the lines that ran";
  if (!disk || target.line < 1 || target.line > static_cast<std::int64_t>(source.lines.size())) {
    return source;
  }
  const std::string& wanted = source.lines[static_cast<std::size_t>(target.line - 1)];
  const Lines now = SplitLines(*disk);
  const auto first = std::find(now.begin(), now.end(), wanted);
  if (first != now.end() && std::find(first + 1, now.end(), wanted) == now.end()) {
    source.status = "moved";
    source.warning += fmt::format("; the same line is now line {}", first - now.begin() + 1);
  }
  return source;
}

Json LinesJson(const Lines& lines, std::int64_t target, std::int64_t context) {
  Json list = Json::array();
  const std::int64_t last = static_cast<std::int64_t>(lines.size());
  for (std::int64_t n = std::max<std::int64_t>(1, target - context);
       n <= std::min(last, target + context); ++n) {
    Json line{{"line", n}, {"text", lines[static_cast<std::size_t>(n - 1)].substr(0, 400)}};
    if (n == target) line["target"] = true;
    list.push_back(std::move(line));
  }
  return list;
}

// Lines around the target, as compared between the sides.
Lines Window(const Lines& lines, std::int64_t target, std::int64_t context) {
  const std::int64_t size = static_cast<std::int64_t>(lines.size());
  const std::int64_t begin = std::clamp<std::int64_t>(target - 1 - context, 0, size);
  const std::int64_t end = std::clamp<std::int64_t>(target + context, begin, size);
  return {lines.begin() + begin, lines.begin() + end};
}

Result<Target> FrameTarget(const OpView* op, const FrameId& id, const std::string& side) {
  if (!op) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("{} does not exist on side {}.", id.op.Text(), side),
                fmt::format("call source_at with side {}", side == "a" ? "b" : "a"));
  }
  if (id.depth >= op->frames.size()) {
    return Fail(
        ErrorCode::kNotFound,
        fmt::format("{}: the stack has {} frames on side {}.", id.Text(), op->frames.size(), side),
        fmt::format("call call_stack with op_id {}", id.op.Text()));
  }
  const store::FrameRow& frame = op->frames[id.depth];
  return Target{frame.path, frame.line, frame.function};
}

// The frame of the other side at the same place: same distance from the root if the function is
// the same, else the innermost frame of that function.
std::optional<Target> Counterpart(const OpView& op, const OpView& other, const FrameId& id) {
  const store::FrameRow& frame = op.frames[id.depth];
  const auto matches = [&](const store::FrameRow& row) {
    return row.function == frame.function &&
           row.path.substr(row.path.rfind('/') + 1) == frame.path.substr(frame.path.rfind('/') + 1);
  };
  const std::size_t from_root = op.frames.size() - id.depth;
  if (from_root <= other.frames.size()) {
    const store::FrameRow& same = other.frames[other.frames.size() - from_root];
    if (matches(same)) return Target{same.path, same.line, same.function};
  }
  const auto found = std::find_if(other.frames.begin(), other.frames.end(), matches);
  if (found == other.frames.end()) return std::nullopt;
  return Target{found->path, found->line, found->function};
}

struct Located {
  std::string side;
  Target target;
  std::unique_ptr<SideReader> reader, other_reader;
  std::optional<Target> other;
};

Result<Located> LocateFrame(Workspace& workspace, analysis::Pair& pair, const Json& arguments) {
  OPGUARD_ASSIGN(const FrameId id, ParseFrameId(arguments.at("frame_id").get<std::string>()));
  OPGUARD_ASSIGN(auto both, workspace.FindOp(pair, id.op));
  Located located;
  located.side = arguments.at("side").get<std::string>();
  if (located.side == "b" && !both.b) located.side = "a";
  if (located.side == "a" && !both.a) located.side = "b";
  const bool on_b = located.side == "b";
  const OpView* op = on_b ? both.b.get() : both.a.get();
  const OpView* other = on_b ? both.a.get() : both.b.get();
  OPGUARD_ASSIGN(located.target, FrameTarget(op, id, located.side));
  if (other) located.other = Counterpart(*op, *other, id);
  located.reader = std::move(on_b ? both.reader_b : both.reader_a);
  located.other_reader = std::move(on_b ? both.reader_a : both.reader_b);
  return located;
}

Result<Located> LocatePath(Workspace& workspace, analysis::Pair& pair, const Json& arguments) {
  if (!arguments.contains("path") || !arguments.contains("line")) {
    return Fail(ErrorCode::kInvalidArgument, "neither frame_id nor path and line were given.",
                "give frame_id from call_stack, or path and line");
  }
  OPGUARD_ASSIGN(const PairFiles files, workspace.Files(pair));
  Located located;
  located.side = arguments.at("side").get<std::string>();
  const bool on_b = located.side == "b";
  const RankFiles& rank = files.ranks.front();
  OPGUARD_ASSIGN(located.reader, SideReader::Open(on_b ? rank.b : rank.a));
  OPGUARD_ASSIGN(located.other_reader, SideReader::Open(on_b ? rank.a : rank.b));
  located.target.path = arguments.at("path").get<std::string>();
  located.target.line = arguments.at("line").get<std::int64_t>();
  std::vector<std::string> paths;
  for (const store::FrameRow& frame : located.reader->facts().frames) {
    if (frame.id > 0 && std::find(paths.begin(), paths.end(), frame.path) == paths.end()) {
      paths.push_back(frame.path);
    }
  }
  const auto is_path = [&](const std::string& path) {
    return path == located.target.path ||
           (path.size() > located.target.path.size() &&
            path.compare(path.size() - located.target.path.size() - 1, std::string::npos,
                         "/" + located.target.path) == 0);
  };
  const auto found = std::find_if(paths.begin(), paths.end(), is_path);
  if (found == paths.end()) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("side {} ran no line of {}.", located.side, located.target.path),
                "use a path that call_stack shows", Nearest(located.target.path, paths));
  }
  located.target.path = *found;
  return located;
}

}  // namespace

Result<Json> SourceAt(Workspace& workspace, const Json& arguments) {
  OPGUARD_ASSIGN(analysis::Pair pair,
                 workspace.store().Open(arguments.at("pair_id").get<std::string>()));
  OPGUARD_ASSIGN(const Located located, arguments.contains("frame_id")
                                            ? LocateFrame(workspace, pair, arguments)
                                            : LocatePath(workspace, pair, arguments));
  const std::int64_t context = arguments.at("context").get<std::int64_t>();
  const Target& target = located.target;
  Source source = FindSource(workspace, *located.reader, target);
  const bool in_file =
      target.line >= 1 && target.line <= static_cast<std::int64_t>(source.lines.size());
  if (source.status != "missing" && !in_file) {
    return Fail(
        ErrorCode::kNotFound,
        fmt::format("{} has {} lines, not {}.", target.path, source.lines.size(), target.line),
        "use a line that call_stack shows");
  }
  std::string shown = in_file ? source.lines[static_cast<std::size_t>(target.line - 1)] : "";
  shown.erase(0, std::min(shown.find_first_not_of(" \t"), shown.size()));
  Json answer{
      {"status", source.status},
      {"summary",
       in_file ? fmt::format("{}:{} on side {}: {}", target.path, target.line, located.side, shown)
               : fmt::format("{}:{}: no source was captured.", target.path, target.line)},
      {"side", located.side},
      {"path", target.path},
      {"line", target.line},
      {"function", target.function},
      {"lines", LinesJson(source.lines, target.line, context)}};
  answer["diff"] = Json::array();
  answer["warnings"] = Json::array();
  if (!source.warning.empty()) answer["warnings"].push_back(source.warning);
  if (arguments.at("diff").get<bool>()) {
    if (!located.other) {
      answer["warnings"].push_back("the other side has no such frame to compare with");
    } else {
      const Source other = FindSource(workspace, *located.other_reader, *located.other);
      const Lines mine = Window(source.lines, target.line, context);
      const Lines theirs = Window(other.lines, located.other->line, context);
      answer["diff"] =
          located.side == "b" ? render::LineDiff(theirs, mine) : render::LineDiff(mine, theirs);
      answer["other"] = Json{{"path", located.other->path}, {"line", located.other->line}};
      if (answer["diff"].empty()) answer["warnings"].push_back("the lines are equal on both sides");
    }
  }
  Json warnings = answer["warnings"];
  answer.erase("warnings");
  answer["warnings"] = std::move(warnings);
  answer["next"] = Json::array();
  return answer;
}

}  // namespace opguard::tools
