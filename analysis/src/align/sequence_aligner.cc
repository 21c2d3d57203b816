#include "sequence_aligner.h"

#include <algorithm>

#include "window_dp.h"

namespace opguard::analysis {
namespace {

constexpr std::size_t kSmallWindow = 32;  // cheaper to solve than to look for anchors in
constexpr std::size_t kFullTable = 512;   // longest window whose table has no band
constexpr std::size_t kLongWindow = 4096;
constexpr std::size_t kFewAnchors = 16;  // for each kLongWindow ops

// Keys of the ops that are not matched yet, 0 for the others.
template <typename KeyOf>
std::vector<std::uint64_t> KeysOf(const OpList& ops, const std::vector<std::int64_t>& match,
                                  std::size_t begin, std::size_t end, const KeyOf& key_of) {
  std::vector<std::uint64_t> keys;
  keys.reserve(end - begin);
  for (std::size_t i = begin; i < end; ++i) keys.push_back(match[ops[i]] < 0 ? key_of(ops[i]) : 0);
  return keys;
}

}  // namespace

SequenceAligner::SequenceAligner(const SideKeys& a, const SideKeys& b, Matches matches,
                                 std::uint32_t max_window)
    : keys_a_(a), keys_b_(b), matches_(matches), max_window_(std::max(max_window, 64U)) {}

void SequenceAligner::Align(const OpList& a, const OpList& b) {
  if (a.empty() || b.empty() || AlignDiagonally(a, b)) return;
  AlignByWindows(a, b);
}

bool SequenceAligner::AlignDiagonally(const OpList& a, const OpList& b) {
  if (a.size() != b.size()) return false;
  std::vector<std::uint32_t> differing;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (keys_a_.exact(a[i]) != keys_b_.exact(b[i])) return false;
    if (keys_a_.inputs(a[i]) != keys_b_.inputs(b[i])) {
      differing.push_back(static_cast<std::uint32_t>(i));
    }
  }
  const auto pair_all = [&] {
    for (std::size_t i = 0; i < a.size(); ++i) matches_.Pair(a[i], b[i]);
  };
  if (!ValuesSpeakAgainstDiagonal(a, b, differing)) {
    pair_all();
    return true;
  }
  AlignByWindows(a, b);
  const std::int64_t by_windows = Score(a);
  for (const std::uint32_t op : a) matches_.Part(op);
  pair_all();
  if (Score(a) >= by_windows) return true;
  for (const std::uint32_t op : a) matches_.Part(op);
  return false;
}

bool SequenceAligner::ValuesSpeakAgainstDiagonal(
    const OpList& a, const OpList& b, const std::vector<std::uint32_t>& differing) const {
  if (differing.empty()) return false;
  std::vector<std::uint64_t> reads_a, reads_b;
  for (const std::uint32_t i : differing) {
    reads_a.push_back(keys_a_.Reads(a[i]));
    reads_b.push_back(keys_b_.Reads(b[i]));
  }
  return !UniqueInBoth(reads_a, reads_b).empty();
}

std::int64_t SequenceAligner::Score(const OpList& a) const {
  std::int64_t score = 0;
  for (const std::uint32_t op : a) {
    if (matches_.a[op] < 0) continue;
    const auto other = static_cast<std::size_t>(matches_.a[op]);
    score += std::max(0, Similarity(keys_a_.Features(op), keys_b_.Features(other)));
  }
  return score;
}

void SequenceAligner::AlignByWindows(const OpList& a, const OpList& b) {
  a_ = &a;
  b_ = &b;
  tasks_.push_back({{0, a.size(), 0, b.size()}, Round::kValues});
  while (!tasks_.empty()) {
    const Task task = tasks_.back();
    tasks_.pop_back();
    Work(task);
  }
}

// Ends that agree in key and in what they read need no anchors. At the end of a window an op that
// reads nothing could as well belong to an earlier one of its kind, so it stays.
void SequenceAligner::Trim(Window& window) {
  const auto is_same = [&](std::size_t i, std::size_t j) {
    return is_free_a(i) && is_free_b(j) && keys_a_.exact((*a_)[i]) == keys_b_.exact((*b_)[j]) &&
           keys_a_.inputs((*a_)[i]) == keys_b_.inputs((*b_)[j]);
  };
  while (window.a < window.a_end && !is_free_a(window.a)) ++window.a;
  while (window.b < window.b_end && !is_free_b(window.b)) ++window.b;
  while (!window.empty() && is_same(window.a, window.b)) {
    matches_.Pair((*a_)[window.a++], (*b_)[window.b++]);
  }
  while (!window.empty() && keys_a_.inputs((*a_)[window.a_end - 1]) != 0 &&
         is_same(window.a_end - 1, window.b_end - 1)) {
    matches_.Pair((*a_)[--window.a_end], (*b_)[--window.b_end]);
  }
}

void SequenceAligner::Work(Task task) {
  Window& window = task.window;
  Trim(window);
  if (window.empty()) return;
  const bool is_small = window.a_size() <= kSmallWindow && window.b_size() <= kSmallWindow;
  for (Round round = task.round; round != Round::kEnd;
       round = static_cast<Round>(static_cast<int>(round) + 1)) {
    std::vector<Anchor> chain;
    if (round == Round::kValues) {
      const std::vector<Anchor> anchors = ValueAnchors(window);
      chain = LongestChain(anchors);
      PairCrossing(anchors, chain, window);
    } else if (is_small) {
      break;
    } else {
      const auto level = kKeyLevels[static_cast<std::size_t>(round) - 1];
      chain = KeyAnchors(window, level);
    }
    if (!chain.empty()) return SplitAt(chain, window, round);
  }
  Finish(window);
}

// For each op its most telling counterpart: same operator and values, then same operator and
// inputs, then whatever op made the same values.
std::vector<Anchor> SequenceAligner::ValueAnchors(const Window& window) const {
  constexpr std::uint32_t kNone = ~0U;
  std::vector<std::uint32_t> counterpart(window.a_size(), kNone);
  std::vector<bool> is_taken(window.b_size(), false);
  const auto gather = [&](auto digest) {
    const auto of_a = KeysOf(*a_, matches_.a, window.a, window.a_end,
                             [&](std::uint32_t op) { return (keys_a_.*digest)(op); });
    const auto of_b = KeysOf(*b_, matches_.b, window.b, window.b_end,
                             [&](std::uint32_t op) { return (keys_b_.*digest)(op); });
    for (const Anchor& anchor : UniqueInBoth(of_a, of_b)) {
      if (counterpart[anchor.a] != kNone || is_taken[anchor.b]) continue;
      counterpart[anchor.a] = anchor.b;
      is_taken[anchor.b] = true;
    }
  };
  gather(&SideKeys::Identity);
  gather(&SideKeys::Reads);
  gather(&SideKeys::Outputs);
  std::vector<Anchor> anchors;
  for (std::uint32_t i = 0; i < counterpart.size(); ++i) {
    if (counterpart[i] != kNone) anchors.push_back({i, counterpart[i]});
  }
  return anchors;
}

// Anchors off the chain are ops that moved, if the very same op is there, inputs and outputs.
void SequenceAligner::PairCrossing(const std::vector<Anchor>& anchors,
                                   const std::vector<Anchor>& chain, const Window& window) {
  auto next = chain.begin();
  for (const Anchor& anchor : anchors) {
    if (next != chain.end() && *next == anchor) {
      ++next;
      continue;
    }
    const std::uint32_t op_a = (*a_)[window.a + anchor.a], op_b = (*b_)[window.b + anchor.b];
    if (keys_a_.inputs(op_a) != 0 && keys_a_.Identity(op_a) == keys_b_.Identity(op_b)) {
      matches_.PairMoved(op_a, op_b);
    }
  }
}

OpFeatures SequenceAligner::FeaturesA(std::size_t at) const {
  return is_free_a(at) ? keys_a_.Features((*a_)[at]) : OpFeatures{};
}

OpFeatures SequenceAligner::FeaturesB(std::size_t at) const {
  return is_free_b(at) ? keys_b_.Features((*b_)[at]) : OpFeatures{};
}

bool SequenceAligner::IsSameKeySequence(const std::vector<std::uint64_t>& keys_a,
                                        const std::vector<std::uint64_t>& keys_b,
                                        const Window& window) const {
  if (keys_a != keys_b) return false;
  for (std::size_t i = 0; i < keys_a.size(); ++i) {
    if (!IsCompatible(window.a + i, window.b + i)) return false;
  }
  return true;
}

std::vector<Anchor> SequenceAligner::KeyAnchors(const Window& window, KeyLevel level) {
  const auto of_a = KeysOf(*a_, matches_.a, window.a, window.a_end,
                           [&](std::uint32_t op) { return keys_a_.Key(level, op); });
  const auto of_b = KeysOf(*b_, matches_.b, window.b, window.b_end,
                           [&](std::uint32_t op) { return keys_b_.Key(level, op); });
  if (IsSameKeySequence(of_a, of_b, window)) {
    std::vector<Anchor> all(of_a.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = {i, i};
    return all;
  }
  auto chain = LongestChain(UniqueInBoth(of_a, of_b));
  if (chain.empty()) chain = LongestChain(EquallyOftenInBoth(of_a, of_b));
  std::erase_if(chain, [&](const Anchor& anchor) {
    return !IsCompatible(window.a + anchor.a, window.b + anchor.b);
  });
  return chain;
}

bool SequenceAligner::IsCompatible(std::size_t at_a, std::size_t at_b) const {
  return Similarity(FeaturesA(at_a), FeaturesB(at_b)) > 0;
}

void SequenceAligner::PairIfAlike(std::size_t at_a, std::size_t at_b) {
  if (IsCompatible(at_a, at_b)) matches_.Pair((*a_)[at_a], (*b_)[at_b]);
}

void SequenceAligner::SplitAt(const std::vector<Anchor>& chain, const Window& window, Round round) {
  // In a long window with hardly an anchor, looking for more of the same kind costs a pass each.
  const std::size_t size = std::max(window.a_size(), window.b_size());
  if (size > kLongWindow && chain.size() < size / kLongWindow * kFewAnchors) {
    round = static_cast<Round>(static_cast<int>(round) + 1);
  }
  std::size_t from_a = window.a, from_b = window.b;
  const auto between = [&](std::size_t to_a, std::size_t to_b) {
    if (from_a < to_a && from_b < to_b) tasks_.push_back({{from_a, to_a, from_b, to_b}, round});
  };
  for (const Anchor& anchor : chain) {
    const std::size_t at_a = window.a + anchor.a, at_b = window.b + anchor.b;
    between(at_a, at_b);
    PairIfAlike(at_a, at_b);
    from_a = at_a + 1;
    from_b = at_b + 1;
  }
  between(window.a_end, window.b_end);
}

void SequenceAligner::Finish(const Window& window) {
  if (window.a_size() > max_window_ || window.b_size() > max_window_) return Halve(window);
  std::vector<OpFeatures> a, b;
  a.reserve(window.a_size());
  b.reserve(window.b_size());
  for (std::size_t i = window.a; i < window.a_end; ++i) a.push_back(FeaturesA(i));
  for (std::size_t j = window.b; j < window.b_end; ++j) b.push_back(FeaturesB(j));
  const std::size_t longer = std::max(a.size(), b.size()), shorter = std::min(a.size(), b.size());
  const std::size_t band = longer <= kFullTable ? 0 : longer - shorter + kFullTable / 4;
  for (const Anchor& pair : AlignBySimilarity(a, b, band)) {
    matches_.Pair((*a_)[window.a + pair.a], (*b_)[window.b + pair.b]);
  }
}

// A window without anchors and too long for a table is cut in two where, near the middle, the
// longest stretch of equal operators begins.
void SequenceAligner::Halve(const Window& window) {
  constexpr std::size_t kReach = 512, kStretch = 64;
  const std::size_t middle_a = window.a + window.a_size() / 2;
  const std::size_t middle_b = window.b + window.b_size() / 2;
  const auto stretch = [&](std::size_t j) {
    std::size_t length = 0;
    while (length < kStretch && middle_a + length < window.a_end && j + length < window.b_end &&
           keys_a_.exact((*a_)[middle_a + length]) == keys_b_.exact((*b_)[j + length])) {
      ++length;
    }
    return length;
  };
  std::size_t best_b = middle_b, longest = stretch(middle_b);
  for (std::size_t distance = 1; distance <= kReach && longest < kStretch; ++distance) {
    for (const bool is_before : {true, false}) {
      if (is_before ? middle_b < window.b + distance : middle_b + distance >= window.b_end)
        continue;
      const std::size_t j = is_before ? middle_b - distance : middle_b + distance;
      if (const std::size_t length = stretch(j); length > longest) {
        longest = length;
        best_b = j;
      }
    }
  }
  tasks_.push_back({{window.a, middle_a, window.b, best_b}, Round::kEnd});
  tasks_.push_back({{middle_a, window.a_end, best_b, window.b_end}, Round::kEnd});
}

}  // namespace opguard::analysis
