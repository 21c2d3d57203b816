// The scalar parts of the fingerprint.
#pragma once

#include <cstdint>

#include "constants.h"

namespace opguard::capture {

// 64 x 64 -> 128 bit product, folded.
inline std::uint64_t Fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

// Constants and shifts: Jon Maiga, "The construct of a bit mixer" (2020), xmxmx.
inline std::uint64_t Avalanche(std::uint64_t h) {
  h = (h ^ (h >> 32U)) * 0xe9846af9b1a615dU;
  h = (h ^ (h >> 32U)) * 0xe9846af9b1a615dU;
  return h ^ (h >> 28U);
}

// A block's value from its eight lanes.
inline std::uint64_t MergeLanes(const std::uint64_t* lanes, std::uint64_t block) {
  std::uint64_t sum = (block + 1) * kBlockStep;
  for (std::size_t l = 0; l < kLanes; l += 2) {
    sum += Fold(lanes[l] ^ kMerge[l], lanes[l + 1] ^ kMerge[l + 1]);
  }
  return Avalanche(sum);
}

inline std::uint64_t Finish(std::uint64_t sum, std::uint64_t bytes, std::uint32_t item_bytes) {
  return Avalanche(sum + bytes * kBytesStep + item_bytes * kItemStep);
}

// An element's share of the unordered digest, for elements of 1, 2 and 4 bytes (zero-extended).
inline std::uint64_t ShareOf32(std::uint32_t element) {
  std::uint32_t x = (element ^ kWhite) * kOdd;
  x ^= x >> 15U;
  return static_cast<std::uint64_t>(x) * (x ^ kSquare);
}

inline std::uint64_t ShareOf64(std::uint64_t element) {
  std::uint32_t low = (static_cast<std::uint32_t>(element) ^ kWhite) * kOdd;
  std::uint32_t high = (static_cast<std::uint32_t>(element >> 32U) ^ kWhiteHigh) * kOddHigh;
  low ^= low >> 15U;
  high ^= high >> 15U;
  const std::uint64_t both = low | (static_cast<std::uint64_t>(high) << 32U);
  // Not low * high: that is linear in one half where the other is the same in all elements.
  return static_cast<std::uint64_t>(low + high) * (low ^ high ^ kSquare) + both;
}

inline std::uint64_t ShareOf128(std::uint64_t low, std::uint64_t high) {
  return Avalanche(ShareOf64(low) + ShareOf64(high) * kPairHigh);
}

}  // namespace opguard::capture
