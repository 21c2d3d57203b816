// The pairing that the passes of Align fill in together.
#pragma once

#include <cstdint>
#include <vector>

namespace opguard::analysis {

// Op indices of a sequence that is aligned as one (a lane's ops of a step, or of one phase of it).
using OpList = std::vector<std::uint32_t>;

// Mutable views of the match vectors, -1 where there is no match, and of the marks on B ops whose
// match is not where their neighbours' are.
struct Matches {
  std::vector<std::int64_t>& a;
  std::vector<std::int64_t>& b;
  std::vector<bool>& is_moved_b;

  void Pair(std::size_t op_a, std::size_t op_b) const {
    a[op_a] = static_cast<std::int64_t>(op_b);
    b[op_b] = static_cast<std::int64_t>(op_a);
  }
  void PairMoved(std::size_t op_a, std::size_t op_b) const {
    Pair(op_a, op_b);
    is_moved_b[op_b] = true;
  }
  void Part(std::size_t op_a) const {
    if (a[op_a] < 0) return;
    const auto op_b = static_cast<std::size_t>(a[op_a]);
    a[op_a] = b[op_b] = -1;
    is_moved_b[op_b] = false;
  }
};

}  // namespace opguard::analysis
