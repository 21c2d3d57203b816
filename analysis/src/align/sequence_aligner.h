// Monotone alignment of two op sequences: anchors, recursion between them, similarity at the end.
#pragma once

#include <cstdint>
#include <vector>

#include "anchors.h"
#include "matches.h"
#include "op_keys.h"

namespace opguard::analysis {

class SequenceAligner {
 public:
  // `max_window`: longest sequence that the similarity table takes whole.
  SequenceAligner(const SideKeys& a, const SideKeys& b, Matches matches, std::uint32_t max_window);

  // Pairs the ops of `a` with those of `b`; none of them may be matched yet. The usual case, equal
  // keys in equal order without a value that speaks for another pairing, is one pass. Monotone but
  // for ops whose inputs and outputs are found elsewhere: they are paired as moved.
  void Align(const OpList& a, const OpList& b);

 private:
  // Positions [a, a_end) of one list and [b, b_end) of the other.
  struct Window {
    std::size_t a, a_end, b, b_end;
    std::size_t a_size() const { return a_end - a; }
    std::size_t b_size() const { return b_end - b; }
    bool empty() const { return a == a_end || b == b_end; }
  };
  // The rounds that a window goes through until one of them splits or settles it.
  enum class Round : std::uint8_t {
    kValues,
    kExact,
    kModuleShapes,
    kModule,
    kShapes,
    kOperator,
    kEnd
  };
  struct Task {
    Window window;
    Round round;
  };

  bool AlignDiagonally(const OpList& a, const OpList& b);
  bool ValuesSpeakAgainstDiagonal(const OpList& a, const OpList& b,
                                  const std::vector<std::uint32_t>& differing) const;
  void AlignByWindows(const OpList& a, const OpList& b);
  // Total similarity of the present matches of `a`.
  std::int64_t Score(const OpList& a) const;

  void Trim(Window& window);
  void Work(Task task);
  std::vector<Anchor> ValueAnchors(const Window& window) const;
  void PairCrossing(const std::vector<Anchor>& anchors, const std::vector<Anchor>& chain,
                    const Window& window);
  std::vector<Anchor> KeyAnchors(const Window& window, KeyLevel level);
  bool IsSameKeySequence(const std::vector<std::uint64_t>& keys_a,
                         const std::vector<std::uint64_t>& keys_b, const Window& window) const;
  void SplitAt(const std::vector<Anchor>& chain, const Window& window, Round round);
  void Finish(const Window& window);
  void Halve(const Window& window);
  bool is_free_a(std::size_t at) const { return matches_.a[(*a_)[at]] < 0; }
  bool is_free_b(std::size_t at) const { return matches_.b[(*b_)[at]] < 0; }
  OpFeatures FeaturesA(std::size_t at) const;
  OpFeatures FeaturesB(std::size_t at) const;
  void PairIfAlike(std::size_t at_a, std::size_t at_b);
  bool IsCompatible(std::size_t at_a, std::size_t at_b) const;

  const SideKeys& keys_a_;
  const SideKeys& keys_b_;
  Matches matches_;
  std::uint32_t max_window_;
  const OpList* a_ = nullptr;
  const OpList* b_ = nullptr;
  std::vector<Task> tasks_;
};

}  // namespace opguard::analysis
