// A PairSpec in the attributes of a pair, so that a pair can be taken up after a restart.
#pragma once

#include <string>
#include <vector>

#include "runner/run_pair.h"

namespace opguard::runner {

[[nodiscard]] Result<void> SaveSpec(analysis::Pair& pair, const PairSpec& spec);
// kIncomplete for a pair that holds none (made by Record, or creation was interrupted).
[[nodiscard]] Result<PairSpec> LoadSpec(const analysis::Pair& pair);

// Lists as one text: an item a line, line breaks and % percent-encoded.
std::string EncodeList(const std::vector<std::string>& items);
std::vector<std::string> DecodeList(const std::string& text);
// Percent-encodes the characters of `unsafe`, '%' and control characters.
std::string PercentEncode(const std::string& text, const std::string& unsafe);

// Adds to the pair's list of warnings what is not there yet.
[[nodiscard]] Result<void> AddWarning(analysis::Pair& pair, const std::string& warning);

}  // namespace opguard::runner
