#include "rescue.h"

#include <algorithm>
#include <unordered_map>

#include "anchors.h"

namespace opguard::analysis {
namespace {

class Rescue {
 public:
  Rescue(const SideKeys& keys_a, const SideKeys& keys_b, const OpList& a, const OpList& b,
         Matches matches)
      : keys_a_(keys_a), keys_b_(keys_b), a_(a), b_(b), matches_(matches) {}

  void Run() {
    if (!Gather()) return;
    ByUnique([](const SideKeys& keys, std::size_t op) { return keys.Identity(op); });
    ByUnique([](const SideKeys& keys, std::size_t op) { return keys.Reads(op); });
    GatherSettled();
    ByUnique([](const SideKeys& keys, std::size_t op) { return keys.exact(op); });
    SwappedNeighbours();
  }

 private:
  bool is_left_a(std::size_t i) const { return matches_.a[a_[i]] < 0; }
  bool is_left_b(std::size_t j) const { return matches_.b[b_[j]] < 0; }

  // Positions of the ops left over; false if a side has none.
  bool Gather() {
    left_a_.clear();
    left_b_.clear();
    for (std::uint32_t i = 0; i < a_.size(); ++i) {
      if (is_left_a(i)) left_a_.push_back(i);
    }
    for (std::uint32_t j = 0; j < b_.size(); ++j) {
      if (is_left_b(j)) left_b_.push_back(j);
    }
    return !left_a_.empty() && !left_b_.empty();
  }

  void Pair(std::size_t i, std::size_t j) { matches_.PairMoved(a_[i], b_[j]); }

  bool IsSameValue(std::size_t i, std::size_t j) const {
    return keys_a_.inputs(a_[i]) != 0 && keys_a_.inputs(a_[i]) == keys_b_.inputs(b_[j]);
  }

  // Matched ops by key, for the keys that were left over somewhere.
  void GatherSettled() {
    if (!Gather()) return;
    for (const std::uint32_t i : left_a_) settled_[keys_a_.exact(a_[i])];
    for (std::uint32_t i = 0; i < a_.size(); ++i) {
      if (is_left_a(i)) continue;
      const auto at = settled_.find(keys_a_.exact(a_[i]));
      if (at != settled_.end()) {
        at->second.push_back({i, static_cast<std::uint32_t>(PositionInB(i))});
      }
    }
  }

  // Whether a match of the same key lies between: then one op is missing here and another was
  // added there, and nothing but its value could make it the one that moved.
  bool CrossesItsKind(std::size_t i, std::size_t j) const {
    const auto at = settled_.find(keys_a_.exact(a_[i]));
    if (at == settled_.end()) return false;
    return std::any_of(at->second.begin(), at->second.end(),
                       [&](const Anchor& settled) { return (settled.a < i) != (settled.b < j); });
  }

  template <typename KeyOf>
  void ByUnique(const KeyOf& key_of) {
    if (!Gather()) return;
    std::vector<std::uint64_t> of_a, of_b;
    for (const std::uint32_t i : left_a_) of_a.push_back(key_of(keys_a_, a_[i]));
    for (const std::uint32_t j : left_b_) of_b.push_back(key_of(keys_b_, b_[j]));
    for (const Anchor& anchor : UniqueInBoth(of_a, of_b)) {
      const std::size_t i = left_a_[anchor.a], j = left_b_[anchor.b];
      if (!is_left_a(i) || !is_left_b(j)) continue;  // taken as a neighbour meanwhile
      if (Similarity(keys_a_.Features(a_[i]), keys_b_.Features(b_[j])) <= 0) continue;
      if (!IsSameValue(i, j) && CrossesItsKind(i, j)) continue;
      Pair(i, j);
      Extend(i, j);
    }
  }

  // The left-over neighbours of a moved op that are alike moved with it.
  void Extend(std::size_t i, std::size_t j) {
    for (std::size_t k = 1; i + k < a_.size() && j + k < b_.size() && IsAlike(i + k, j + k); ++k) {
      Pair(i + k, j + k);
    }
    for (std::size_t k = 1; k <= i && k <= j && IsAlike(i - k, j - k); ++k) Pair(i - k, j - k);
  }

  bool IsAlike(std::size_t i, std::size_t j) const {
    return is_left_a(i) && is_left_b(j) && keys_a_.exact(a_[i]) == keys_b_.exact(b_[j]);
  }

  // An op left over on both sides close to one place, its key common elsewhere.
  void SwappedNeighbours() {
    if (!Gather()) return;
    constexpr std::size_t kReach = 16;
    std::size_t expected = 0, next = 0;
    for (const std::uint32_t i : left_a_) {
      for (; next < i; ++next) {
        if (!is_left_a(next)) expected = PositionInB(next) + 1;
      }
      std::size_t found = b_.size();
      bool is_by_value = false;
      const std::size_t from = expected > kReach ? expected - kReach : 0;
      for (std::size_t j = from; j < std::min(expected + kReach, b_.size()); ++j) {
        if (!IsAlike(i, j)) continue;
        const bool same = IsSameValue(i, j);
        if (!same && CrossesItsKind(i, j)) continue;
        if (found == b_.size() || (same && !is_by_value)) {
          found = j;
          is_by_value = same;
        }
      }
      if (found < b_.size()) Pair(i, found);
    }
  }

  std::size_t PositionInB(std::size_t i) const {
    const auto op = static_cast<std::uint32_t>(matches_.a[a_[i]]);
    return static_cast<std::size_t>(std::lower_bound(b_.begin(), b_.end(), op) - b_.begin());
  }

  const SideKeys& keys_a_;
  const SideKeys& keys_b_;
  const OpList& a_;
  const OpList& b_;
  Matches matches_;
  std::vector<std::uint32_t> left_a_, left_b_;
  std::unordered_map<std::uint64_t, std::vector<Anchor>> settled_;
};

}  // namespace

void RescueLeftOvers(const SideKeys& keys_a, const SideKeys& keys_b, const OpList& a,
                     const OpList& b, Matches matches) {
  Rescue(keys_a, keys_b, a, b, matches).Run();
}

}  // namespace opguard::analysis
