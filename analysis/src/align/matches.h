// The pairing that the passes of Align fill in together.
#pragma once

#include <cstdint>
#include <vector>

namespace opguard::analysis {

// Op indices of a sequence that is aligned as one (a lane's ops of a step, or of one phase of it).
using OpList = std::vector<std::uint32_t>;

// Mutable views of the match vectors, -1 where there is no match.
struct Matches {
  std::vector<std::int64_t>& a;
  std::vector<std::int64_t>& b;

  void Pair(std::size_t op_a, std::size_t op_b) const {
    a[op_a] = static_cast<std::int64_t>(op_b);
    b[op_b] = static_cast<std::int64_t>(op_a);
  }
  void Part(std::size_t op_a) const {
    if (a[op_a] < 0) return;
    b[static_cast<std::size_t>(a[op_a])] = -1;
    a[op_a] = -1;
  }
};

}  // namespace opguard::analysis
