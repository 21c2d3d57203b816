// The differing lines of two short texts.
#pragma once

#include <string>
#include <vector>

namespace opguard::render {

// A's and B's lines as in a unified diff without header: "-only A", "+only B", " both"; empty if
// the texts are equal. Longest common subsequence; quadratic, so meant for a few hundred lines.
std::vector<std::string> LineDiff(const std::vector<std::string>& a,
                                  const std::vector<std::string>& b);

}  // namespace opguard::render
