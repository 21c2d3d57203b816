// One rank's first difference as the tool's JSON.
#pragma once

#include <string>

#include "tools/answer.h"
#include "tools/workspace.h"

namespace opguard::render {

using mcp::Json;

// The whole answer for one rank (status, summary, coverage, data, warnings, next), lists cut to
// `items`. `pair_id` and `rank` are used in ids and suggestions.
Json FirstDiffJson(const tools::Judged& judged, const std::string& pair_id, std::uint32_t rank,
                   std::size_t items);

}  // namespace opguard::render
