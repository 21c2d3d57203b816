// Constants of the fingerprint, fixed for ever by trace format 1. docs/fingerprint.md defines them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace opguard::capture {

inline constexpr std::size_t kStripeBytes = 64;
inline constexpr std::size_t kStripes = 32;  // of a block
inline constexpr std::size_t kBlockBytes = kStripes * kStripeBytes;
inline constexpr std::size_t kLanes = 8;  // 64-bit words of a stripe

// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
constexpr std::uint64_t SplitMix(std::uint64_t counter) {
  std::uint64_t z = counter * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

template <std::size_t size>
constexpr std::array<std::uint64_t, size> Words(std::uint64_t first) {
  std::array<std::uint64_t, size> words{};
  for (std::size_t i = 0; i < size; ++i) words[i] = SplitMix(first + i);
  return words;
}

// Key of lane l of stripe s: kKeys[s + l].
alignas(64) inline constexpr auto kKeys = Words<kStripes + kLanes>(1);
alignas(64) inline constexpr auto kStart = Words<kLanes>(101);
inline constexpr auto kMerge = Words<kLanes>(201);
inline constexpr std::uint64_t kBlockStep = SplitMix(301) | 1U;
inline constexpr std::uint64_t kBytesStep = SplitMix(302) | 1U;
inline constexpr std::uint64_t kItemStep = SplitMix(303) | 1U;

// Of the unordered digest: whitening and odd multiplier of 32-bit elements, and of the low and
// high halves of longer ones.
inline constexpr std::uint32_t kWhite = static_cast<std::uint32_t>(SplitMix(401));
inline constexpr std::uint32_t kOdd = static_cast<std::uint32_t>(SplitMix(402)) | 1U;
inline constexpr std::uint32_t kSquare = static_cast<std::uint32_t>(SplitMix(403));
inline constexpr std::uint32_t kWhiteHigh = static_cast<std::uint32_t>(SplitMix(404));
inline constexpr std::uint32_t kOddHigh = static_cast<std::uint32_t>(SplitMix(405)) | 1U;
inline constexpr std::uint64_t kPairHigh = SplitMix(406) | 1U;

}  // namespace opguard::capture
