#include "tools/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace opguard::tools {
namespace {

std::size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> Nearest(const std::string& text,
                                 const std::vector<std::string>& candidates, std::size_t limit) {
  std::vector<std::pair<std::size_t, const std::string*>> scored;
  for (const std::string& candidate : candidates) {
    scored.emplace_back(EditDistance(text.substr(0, 200), candidate.substr(0, 200)), &candidate);
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < scored.size() && i < limit; ++i) nearest.push_back(*scored[i].second);
  return nearest;
}

}  // namespace opguard::tools
