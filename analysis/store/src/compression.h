// zstd over whole texts.
#pragma once

#include <string>
#include <string_view>

#include "opguard/store/result.h"

namespace opguard::store {

// Texts larger than this are neither written nor read.
inline constexpr std::size_t kMaxText = 16U << 20U;

std::string Compress(std::string_view text);
// kCorrupt unless `packed` gives exactly `bytes` bytes, at most kMaxText.
[[nodiscard]] Result<std::string> Decompress(std::string_view packed, std::int64_t bytes);

}  // namespace opguard::store
