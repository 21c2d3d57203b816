#include "tools/ids.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <vector>

namespace opguard::tools {
namespace {

struct Kind {
  const char* prefix;
  const char* article;
  const char* tool;
  const char* example;
};
constexpr Kind kOp{"op", "an op id", "call_stack", "op:0.1842"};
constexpr Kind kTensor{"tensor", "a tensor id", "tensor_compare", "tensor:0.1842.out0"};
constexpr Kind kFrame{"frame", "a frame id", "source_at", "frame:0.1842.3"};

template <typename T>
bool ParseNumber(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && !text.empty();
}

tl::unexpected<Error> BadId(const std::string& text, const Kind& wanted) {
  for (const Kind& other : {kOp, kTensor, kFrame}) {
    if (other.prefix != wanted.prefix && text.rfind(fmt::format("{}:", other.prefix), 0) == 0) {
      return Fail(
          ErrorCode::kInvalidArgument,
          fmt::format("{} is {}; {} is expected here.", text, other.article, wanted.article),
          fmt::format("give {} such as {}, or call {} with it", wanted.article, wanted.example,
                      other.tool));
    }
  }
  return Fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not {}.", text, wanted.article),
              fmt::format("use an id that a tool returned, such as {}", wanted.example));
}

// Splits "<prefix>:<rank>.<index>[.<rest>]".
bool SplitId(std::string_view text, const Kind& kind, OpId& op, std::string_view& rest) {
  const std::string_view prefix = kind.prefix;
  if (text.size() <= prefix.size() || text.substr(0, prefix.size()) != prefix ||
      text[prefix.size()] != ':') {
    return false;
  }
  text.remove_prefix(prefix.size() + 1);
  const std::size_t first = text.find('.');
  if (first == std::string_view::npos) return false;
  const std::size_t second = text.find('.', first + 1);
  rest = second == std::string_view::npos ? std::string_view{} : text.substr(second + 1);
  return ParseNumber(text.substr(0, first), op.rank) &&
         ParseNumber(text.substr(first + 1, second - first - 1), op.index);
}

bool IsSlot(std::string_view slot) {
  for (const std::string_view role : {"in", "out", "mut"}) {
    if (slot.substr(0, role.size()) != role) continue;
    std::string_view tail = slot.substr(role.size());
    std::uint32_t number = 0;
    const std::size_t bracket = tail.find('[');
    if (bracket == std::string_view::npos) return ParseNumber(tail, number);
    return tail.back() == ']' && ParseNumber(tail.substr(0, bracket), number) &&
           ParseNumber(tail.substr(bracket + 1, tail.size() - bracket - 2), number);
  }
  return false;
}

}  // namespace

std::string OpId::Text() const { return fmt::format("op:{}.{}", rank, index); }
std::string TensorId::Text() const {
  return fmt::format("tensor:{}.{}.{}", op.rank, op.index, slot);
}
std::string FrameId::Text() const {
  return fmt::format("frame:{}.{}.{}", op.rank, op.index, depth);
}

Result<OpId> ParseOpId(const std::string& text) {
  OpId id;
  std::string_view rest;
  if (!SplitId(text, kOp, id, rest) || !rest.empty()) return BadId(text, kOp);
  return id;
}

Result<TensorId> ParseTensorId(const std::string& text) {
  TensorId id;
  std::string_view rest;
  if (!SplitId(text, kTensor, id.op, rest) || !IsSlot(rest)) return BadId(text, kTensor);
  id.slot = std::string(rest);
  return id;
}

Result<FrameId> ParseFrameId(const std::string& text) {
  FrameId id;
  std::string_view rest;
  if (!SplitId(text, kFrame, id.op, rest) || !ParseNumber(rest, id.depth)) {
    return BadId(text, kFrame);
  }
  return id;
}

}  // namespace opguard::tools
