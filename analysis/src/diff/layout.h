// Where another stride or storage offset came from.
#pragma once

#include "explain.h"

namespace opguard::analysis {

struct LayoutOrigin {
  std::int64_t a = -1, b = -1;  // ops of the row that brought the layout in; one may be -1
  bool is_known = false;        // false: it was there when first seen
};

// Follows an input whose layout differs up to the op that first gave it another layout.
LayoutOrigin FindLayoutOrigin(const PairFacts& facts, const Explainer& explainer, std::size_t op_a,
                              std::size_t op_b, const RecordPair& pair);

}  // namespace opguard::analysis
