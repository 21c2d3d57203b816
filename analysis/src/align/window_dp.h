// Similarity alignment of two short sequences by dynamic programming.
#pragma once

#include <cstdint>
#include <vector>

#include "anchors.h"
#include "op_keys.h"

namespace opguard::analysis {

// The monotone pairing with the highest total similarity; of equals the one whose pairs come
// earliest and hang together. `band`: how far from the diagonal a pair may lie, in ops of `b`
// (0 no limit). Time and memory: a.size() * min(b.size(), 2 * band).
std::vector<Anchor> AlignBySimilarity(const std::vector<OpFeatures>& a,
                                      const std::vector<OpFeatures>& b, std::size_t band = 0);

}  // namespace opguard::analysis
