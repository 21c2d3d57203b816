// The ids that tools hand out and take: op:<rank>.<aligned index>, tensor:<rank>.<index>.<slot>,
// frame:<rank>.<index>.<depth>. The side is always an argument of its own.
#pragma once

#include <cstdint>
#include <string>

#include "opguard/store/result.h"

namespace opguard::tools {

struct OpId {
  std::uint32_t rank = 0;
  std::uint64_t index = 0;  // aligned index
  std::string Text() const;
};
struct TensorId {
  OpId op;
  std::string slot;  // in0, in1[3], out0, mut2
  std::string Text() const;
};
struct FrameId {
  OpId op;
  std::uint32_t depth = 0;  // 0 is the innermost frame
  std::string Text() const;
};

// kInvalidArgument; an id of another kind is answered with its kind and the tool that takes it.
[[nodiscard]] Result<OpId> ParseOpId(const std::string& text);
[[nodiscard]] Result<TensorId> ParseTensorId(const std::string& text);
[[nodiscard]] Result<FrameId> ParseFrameId(const std::string& text);

}  // namespace opguard::tools
