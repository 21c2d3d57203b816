// Numbers out of the text that a geometry is recorded with.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace opguard::analysis {

// The numbers of "[2, 3]"; nothing if the text is no such list.
std::optional<std::vector<std::int64_t>> ParseIntList(std::string_view text);

// Product of the sizes; nothing for a negative size or on overflow.
std::optional<std::int64_t> NumelOf(const std::vector<std::int64_t>& sizes);

// Bytes of one element of a dtype ("float32", "torch.float32", "Float"); 0 if it is not known.
std::int32_t ItemBytes(std::string_view dtype);

}  // namespace opguard::analysis
