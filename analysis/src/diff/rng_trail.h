// Why a random draw began from another generator state on the two sides.
#pragma once

#include <string>
#include <vector>

#include "compare.h"

namespace opguard::analysis {

enum class RngWhy : std::uint8_t {
  kNotRecorded,    // a side has no generator state for this op
  kSameState,      // both drew from one state: not the generator's doing
  kGenerator,      // another generator
  kSeed,           // seeded differently
  kExtraDraws,     // draws on one side only came between
  kDrewOtherwise,  // an earlier matched draw took another amount
  kUnseen,         // nothing recorded explains it
};

struct RngTrail {
  RngWhy why = RngWhy::kNotRecorded;
  const store::RngRow* a = nullptr;  // of the op itself, null if not recorded
  const store::RngRow* b = nullptr;
  std::vector<std::size_t> extra_a, extra_b;  // ops of kExtraDraws, ascending
  std::int64_t earlier_a = -1;                // A's op of kDrewOtherwise
};

// Whether a side recorded a draw of this op.
bool HasDraw(const Trace& trace, std::size_t op);
RngTrail FollowDraws(const PairFacts& facts, std::size_t op_a, std::size_t op_b);

}  // namespace opguard::analysis
