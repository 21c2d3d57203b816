// Pairs of places that surely correspond, found in linear time (sorting apart).
#pragma once

#include <cstdint>
#include <vector>

namespace opguard::analysis {

// Positions in the two sequences of a window.
struct Anchor {
  std::uint32_t a, b;
  bool operator==(const Anchor&) const = default;
};

// Keys that occur exactly once in each sequence; a key 0 is none. In ascending `a`.
std::vector<Anchor> UniqueInBoth(const std::vector<std::uint64_t>& a,
                                 const std::vector<std::uint64_t>& b);

// For keys that occur equally often in each, their n-th occurrences. In ascending `a`.
std::vector<Anchor> EquallyOftenInBoth(const std::vector<std::uint64_t>& a,
                                       const std::vector<std::uint64_t>& b);

// The longest chain that ascends in `b`. REQUIRES: `anchors` ascend strictly in `a`.
std::vector<Anchor> LongestChain(const std::vector<Anchor>& anchors);

}  // namespace opguard::analysis
