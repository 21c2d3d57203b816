#include "opguard/analysis/trace.h"

#include <algorithm>

namespace opguard::analysis {

std::int64_t Trace::IndexOf(std::int64_t id) const {
  if (id <= 0 || op_id.empty()) return -1;
  // Ids are dense in a trace without gaps, so the first guess is nearly always right.
  const auto guess = static_cast<std::size_t>(id - 1);
  if (guess < op_id.size() && op_id[guess] == id) return id - 1;
  const auto found = std::lower_bound(op_id.begin(), op_id.end(), id);
  if (found == op_id.end() || *found != id) return -1;
  return found - op_id.begin();
}

std::uint32_t ModuleOf(const Trace& trace, std::size_t op) {
  // A double backward op reaches its module through the backward op that created its node.
  constexpr int kMaxDepth = 4;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (trace.module[op] != 0 || trace.node[op] == 0) return trace.module[op];
    const std::int64_t forward = trace.IndexOf(trace.nodes[trace.node[op]].forward_op);
    if (forward < 0) return 0;
    op = static_cast<std::size_t>(forward);
  }
  return trace.module[op];
}

}  // namespace opguard::analysis
