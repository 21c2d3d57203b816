// The one-paragraph answer of first_diff.
#pragma once

#include <string>

#include "tools/workspace.h"

namespace opguard::render {

// Verdict, op, place and step; what differs; what agrees; what was equal before; the line.
std::string FirstDiffSummary(const tools::Judged& judged);

}  // namespace opguard::render
