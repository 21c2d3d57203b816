// The valid values closest to a mistyped one, for error messages.
#pragma once

#include <string>
#include <vector>

namespace opguard::tools {

// At most `limit` of `candidates`, by edit distance to `text`, ties in given order.
std::vector<std::string> Nearest(const std::string& text,
                                 const std::vector<std::string>& candidates, std::size_t limit = 5);

}  // namespace opguard::tools
