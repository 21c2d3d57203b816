// Merges the interned tables of both sides into one Dictionary.
#pragma once

#include <cstdint>
#include <vector>

#include "opguard/analysis/trace.h"

namespace opguard::analysis {

// From one file's ids to Dictionary ids: element [file id]. Ids outside are not in the file.
struct Translation {
  std::vector<std::uint32_t> lanes, schemas, arguments, insides, slots, geometries, modules;
};

// Interns the tables of `a`, then those of `b`; releases them in both. Deterministic.
// Errors: kCorrupt if a table is too large for its column.
[[nodiscard]] Result<void> BuildDictionary(store::TraceFacts& a, store::TraceFacts& b,
                                           Dictionary& dictionary, Translation& from_a,
                                           Translation& from_b);

}  // namespace opguard::analysis
