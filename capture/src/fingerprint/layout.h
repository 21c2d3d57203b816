// A tensor's memory as nested loops, simplified for reading in logical order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "opguard/capture/fingerprint.h"

namespace opguard::capture {

// Dimensions without size 1 ones, with those merged that are one run in memory. Strides in bytes.
// Torch allows 64 dimensions at most.
struct Loops {
  static constexpr std::size_t kMost = 64;
  std::array<std::int64_t, kMost> sizes, strides;
  std::size_t dims = 0;  // 0: one element
  std::uint64_t elements = 1;

  explicit Loops(const MemoryView& view);
  bool IsContiguous(std::uint32_t item_bytes) const {
    return dims == 0 || (dims == 1 && strides[0] == item_bytes);
  }
};

}  // namespace opguard::capture
