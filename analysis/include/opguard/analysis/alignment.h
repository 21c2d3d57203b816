// Which op of side A corresponds to which op of side B.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "opguard/analysis/trace.h"

namespace opguard::analysis {

// What is known of one aligned row after comparing it.
enum class RowState : std::uint8_t {
  kEqual,       // matched; every compared tensor, argument and draw agrees
  kEquivalent,  // part of a rewrite that reconverges bit for bit, or explained/harmless
  kDiffers,     // matched; something differs although what it consumed agrees (an origin)
  kReceiver,    // matched; differs because something it consumed differs
  kOnlyA,       // no counterpart on B
  kOnlyB,       // no counterpart on A
};

// `count` consecutive aligned rows, starting at aligned index `index`, that pair A's ops
// a, a+1, ... with B's ops b, b+1, ... (indices into the Trace columns; -1 where the side is
// absent) and share one state. Runs are ordered by index and cover every op of both sides once.
struct AlignedRun {
  std::uint64_t index;
  std::int64_t a, b;
  std::uint64_t count;
  RowState state;
};

// Aligned rows are in A's execution order; ops only on B follow the A op they come after.
// Deterministic: depends on the two traces alone.
struct Alignment {
  std::vector<AlignedRun> runs;
  std::uint64_t rows = 0;

  struct Row {
    std::int64_t a, b;
    RowState state;
  };
  // REQUIRES: index < rows. O(log runs).
  Row At(std::uint64_t index) const;
  // Aligned index of a side's op, -1 if there is no such op. O(log runs) after the first call on
  // that side and the first after a change of `runs`. Not thread-safe.
  std::int64_t IndexOf(Side side, std::int64_t op) const;

  // Match vectors: match_a[i] = B op matched to A's op i or -1, and the reverse.
  std::vector<std::int64_t> match_a, match_b;

  // Cache of IndexOf: each side's runs in the order of that side's ops.
  mutable std::array<std::vector<std::uint32_t>, 2> runs_of_side;
};

// Rebuilds the match vectors from `runs`, for an alignment that was read back from a pair store.
void RestoreMatches(Alignment& alignment);

struct AlignOptions {
  std::uint32_t max_window = 4096;  // largest dynamic-programming window before it is split
};

// Pairs the ops of both sides; RowState is kEqual for every matched row (unjudged: first_diff.h
// sets the states). Time and memory linear in the number of ops for nearly equal traces.
[[nodiscard]] Alignment Align(const TracePair& pair, const AlignOptions& options = {});

}  // namespace opguard::analysis
