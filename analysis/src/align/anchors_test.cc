#include "anchors.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "window_dp.h"

namespace opguard::analysis {
namespace {

using Anchors = std::vector<Anchor>;
using Keys = std::vector<std::uint64_t>;

TEST_CASE("UniqueInBoth pairs what occurs once on each side, never key 0") {
  CHECK(UniqueInBoth({5, 7, 7, 0, 9}, {9, 0, 5, 7}) == Anchors{{0, 2}, {4, 0}});
  CHECK(UniqueInBoth({}, {1}).empty());
  CHECK(UniqueInBoth({1, 1}, {1, 1}).empty());
}

TEST_CASE("EquallyOftenInBoth pairs the n-th occurrences of keys with equal counts") {
  CHECK(EquallyOftenInBoth({1, 2, 1, 3}, {2, 1, 1, 3, 3}) == Anchors{{0, 1}, {1, 0}, {2, 2}});
}

// Length of the longest chain by its definition, for comparison.
std::size_t LongestByDefinition(const Anchors& anchors) {
  std::vector<std::size_t> length(anchors.size(), 1);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < anchors.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (anchors[j].b < anchors[i].b) length[i] = std::max(length[i], length[j] + 1);
    }
    longest = std::max(longest, length[i]);
  }
  return longest;
}

TEST_CASE("LongestChain ascends on both sides and is as long as can be") {
  std::uint64_t state = 1;
  for (int round = 0; round < 200; ++round) {
    Anchors anchors;
    for (std::uint32_t i = 0; i < 20; ++i) anchors.push_back({i, i});
    for (std::size_t i = anchors.size(); i > 1; --i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(anchors[i - 1].b, anchors[(state >> 33) % i].b);
    }
    const Anchors chain = LongestChain(anchors);
    CHECK(chain.size() == LongestByDefinition(anchors));
    for (std::size_t i = 1; i < chain.size(); ++i) {
      CHECK(chain[i - 1].a < chain[i].a);
      CHECK(chain[i - 1].b < chain[i].b);
    }
  }
  CHECK(LongestChain({}).empty());
}

OpFeatures Feature(std::uint64_t operation, std::uint64_t inputs) {
  OpFeatures features{};
  features.operation = operation;
  features.inputs = inputs;
  return features;
}

TEST_CASE("AlignBySimilarity prefers agreeing values, then the earliest pairs that hang together") {
  const std::vector<OpFeatures> values = {Feature(1, 10), Feature(1, 11)};
  CHECK(AlignBySimilarity({Feature(1, 11)}, values) == Anchors{{0, 1}});
  CHECK(AlignBySimilarity({Feature(1, 99)}, values) == Anchors{{0, 0}});
  const std::vector<OpFeatures> abab = {Feature(1, 1), Feature(2, 2), Feature(1, 3), Feature(2, 4)};
  CHECK(AlignBySimilarity({Feature(1, 7), Feature(2, 8)}, abab) == Anchors{{0, 0}, {1, 1}});
}

TEST_CASE("AlignBySimilarity never pairs different operators and takes empty sides") {
  CHECK(AlignBySimilarity({Feature(1, 1)}, {Feature(2, 1)}).empty());
  CHECK(AlignBySimilarity({}, {Feature(2, 1)}).empty());
  CHECK(AlignBySimilarity({Feature(2, 1)}, {}).empty());
}

TEST_CASE("A band that holds the best pairing gives the same answer as the full table") {
  std::vector<OpFeatures> a, b;
  for (std::uint64_t i = 0; i < 120; ++i) a.push_back(Feature(1 + i % 3, 0));
  b = a;
  b.erase(b.begin() + 40, b.begin() + 50);
  CHECK(AlignBySimilarity(a, b, 20) == AlignBySimilarity(a, b));
}

}  // namespace
}  // namespace opguard::analysis
