#include "compression.h"

#include <zstd.h>

namespace opguard::store {

std::string Compress(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), ZSTD_CLEVEL_DEFAULT);
  packed.resize(ZSTD_isError(size) != 0 ? 0 : size);
  return packed;
}

Result<std::string> Decompress(std::string_view packed, std::int64_t bytes) {
  if (bytes < 0 || static_cast<std::size_t>(bytes) > kMaxText) {
    return Fail(ErrorCode::kCorrupt, "a source text has an impossible size");
  }
  std::string text(static_cast<std::size_t>(bytes), '\0');
  const std::size_t size = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) != 0 || size != text.size()) {
    return Fail(ErrorCode::kCorrupt, "a source text does not decompress");
  }
  return text;
}

}  // namespace opguard::store
