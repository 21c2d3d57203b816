#include "anchors.h"

#include <algorithm>

namespace opguard::analysis {
namespace {

struct Keyed {
  std::uint64_t key;
  std::uint32_t position;
};

// By key, then position; keys of 0 are left out.
std::vector<Keyed> Sorted(const std::vector<std::uint64_t>& keys) {
  std::vector<Keyed> sorted;
  sorted.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] != 0) sorted.push_back({keys[i], static_cast<std::uint32_t>(i)});
  }
  std::sort(sorted.begin(), sorted.end(), [](const Keyed& x, const Keyed& y) {
    return x.key != y.key ? x.key < y.key : x.position < y.position;
  });
  return sorted;
}

// End of the group of equal keys that begins at `begin`.
std::size_t GroupEnd(const std::vector<Keyed>& sorted, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < sorted.size() && sorted[end].key == sorted[begin].key) ++end;
  return end;
}

std::vector<Anchor> PairGroups(const std::vector<std::uint64_t>& a,
                               const std::vector<std::uint64_t>& b, std::size_t most) {
  const std::vector<Keyed> in_a = Sorted(a), in_b = Sorted(b);
  std::vector<Anchor> anchors;
  for (std::size_t i = 0, j = 0; i < in_a.size() && j < in_b.size();) {
    if (in_a[i].key < in_b[j].key) {
      i = GroupEnd(in_a, i);
    } else if (in_b[j].key < in_a[i].key) {
      j = GroupEnd(in_b, j);
    } else {
      const std::size_t end_a = GroupEnd(in_a, i), end_b = GroupEnd(in_b, j);
      if (end_a - i == end_b - j && end_a - i <= most) {
        for (std::size_t k = 0; k < end_a - i; ++k) {
          anchors.push_back({in_a[i + k].position, in_b[j + k].position});
        }
      }
      i = end_a;
      j = end_b;
    }
  }
  std::sort(anchors.begin(), anchors.end(),
            [](const Anchor& x, const Anchor& y) { return x.a < y.a; });
  return anchors;
}

}  // namespace

std::vector<Anchor> UniqueInBoth(const std::vector<std::uint64_t>& a,
                                 const std::vector<std::uint64_t>& b) {
  return PairGroups(a, b, 1);
}

std::vector<Anchor> EquallyOftenInBoth(const std::vector<std::uint64_t>& a,
                                       const std::vector<std::uint64_t>& b) {
  return PairGroups(a, b, a.size());
}

std::vector<Anchor> LongestChain(const std::vector<Anchor>& anchors) {
  constexpr std::uint32_t kNone = ~0U;
  std::vector<std::uint32_t> tails;  // tails[l]: anchor that ends the best chain of length l + 1
  std::vector<std::uint32_t> previous(anchors.size(), kNone);
  for (std::uint32_t i = 0; i < anchors.size(); ++i) {
    const auto at =
        std::lower_bound(tails.begin(), tails.end(), anchors[i].b,
                         [&](std::uint32_t tail, std::uint32_t b) { return anchors[tail].b < b; });
    if (at != tails.begin()) previous[i] = *(at - 1);
    if (at == tails.end()) {
      tails.push_back(i);
    } else {
      *at = i;
    }
  }
  std::vector<Anchor> chain(tails.size());
  std::uint32_t i = tails.empty() ? kNone : tails.back();
  for (std::size_t length = tails.size(); length > 0; --length) {
    chain[length - 1] = anchors[i];
    i = previous[i];
  }
  return chain;
}

}  // namespace opguard::analysis
