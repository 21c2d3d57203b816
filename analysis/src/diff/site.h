// Ops and records named for a reader of the answer.
#pragma once

#include <string>

#include "compare.h"
#include "opguard/analysis/first_diff.h"

namespace opguard::analysis {

std::string OpName(const PairFacts& facts, Side side, std::size_t op);
// "in0", "mut1[3]"
std::string SlotName(const Dictionary& dictionary, std::uint32_t slot);
// A row; -1 where a side has no op. The row's index is looked up in the alignment.
OpSite MakeSite(const PairFacts& facts, std::int64_t a, std::int64_t b);
// `pair` as a difference of the row that it belongs to.
TensorDifference MakeDifference(const PairFacts& facts, const RecordPair& pair);
// "aten::mm (op 17)", or with both sides' numbers where they differ.
std::string Naming(const OpSite& site);

}  // namespace opguard::analysis
