#include "value_occurrence.h"

#include <algorithm>

namespace opguard::analysis {

std::uint64_t ValueOccurrence::KeyOf(Side side, std::size_t record) const {
  const Trace& trace = facts_.trace(side);
  const Geometry& geometry = facts_.dictionary().geometries[trace.tensor_geometry[record]];
  return trace.fingerprint[record] + geometry.shape_id * 0x9e3779b97f4a7c15ULL +
         geometry.dtype_id * 0xc2b2ae3d27d4eb4fULL;
}

ValueOccurrence::ValueOccurrence(const PairFacts& facts, Side side) : facts_(facts), side_(side) {
  const Side other_side = side == Side::kA ? Side::kB : Side::kA;
  const Trace &trace = facts.trace(side), &other = facts.trace(other_side);
  for (std::size_t op = 0; op < trace.ops(); ++op) {
    if (facts.Match(side, op) >= 0) continue;
    for (std::uint64_t t = trace.first_tensor[op]; t < trace.first_tensor[op + 1]; ++t) {
      if (facts.SlotOf(side, t).role != Role::kInput && facts.HasValue(side, t)) {
        entries_.push_back({KeyOf(side, t), false});
      }
    }
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& x, const Entry& y) { return x.key < y.key; });
  // Most records of the other side are none of these: a bitmap turns them away.
  constexpr std::size_t kBits = 1 << 20;
  std::vector<bool> maybe(kBits);
  for (const Entry& entry : entries_) maybe[entry.key % kBits] = true;
  for (std::size_t t = 0; t < other.tensors(); ++t) {
    if (!facts.HasValue(other_side, t)) continue;
    const std::uint64_t key = KeyOf(other_side, t);
    if (!maybe[key % kBits]) continue;
    auto at = std::lower_bound(entries_.begin(), entries_.end(), key,
                               [](const Entry& x, std::uint64_t wanted) { return x.key < wanted; });
    for (; at != entries_.end() && at->key == key && !at->occurs; ++at) at->occurs = true;
  }
}

bool ValueOccurrence::OnOtherSide(std::size_t record) const {
  if (!facts_.HasValue(side_, record)) return false;
  const std::uint64_t key = KeyOf(side_, record);
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), key,
                       [](const Entry& x, std::uint64_t wanted) { return x.key < wanted; });
  return at != entries_.end() && at->key == key && at->occurs;
}

}  // namespace opguard::analysis
