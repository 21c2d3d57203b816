#include "final_values.h"

#include <algorithm>
#include <unordered_map>

namespace opguard::analysis {
namespace {

std::size_t Index(std::int64_t value) { return static_cast<std::size_t>(value); }

class FinalValues {
 public:
  FinalValues(const PairFacts& facts, const Explainer& explainer)
      : facts_(facts), explainer_(explainer), end_a_(EndOf(Side::kA)), end_b_(EndOf(Side::kB)) {}

  std::vector<Cause> Find() {
    GatherWritten(Side::kA, written_a_);
    GatherWritten(Side::kB, written_b_);
    if (written_a_.empty() && written_b_.empty()) return {};
    for (std::size_t op = 0; op < end_a_; ++op) {
      const std::int64_t match = facts_.Match(Side::kA, op);
      if (match >= 0) PairStorages(op, Index(match));
    }
    return std::move(causes_);
  }

 private:
  bool IsComplete() const {
    return facts_.pair().a.facts.complete() && facts_.pair().b.facts.complete();
  }

  // One past the last op that both sides had the chance to run.
  std::size_t EndOf(Side side) const {
    const Trace& trace = facts_.trace(side);
    std::size_t end = trace.ops();
    while (end > 0 && facts_.Match(side, end - 1) < 0) --end;
    if (end == 0 || !IsComplete()) return end;
    const std::uint32_t step = trace.step[end - 1];
    while (end < trace.ops() && trace.step[end] == step) ++end;
    return end;
  }

  // Storages that unmatched ops write.
  void GatherWritten(Side side, std::unordered_map<std::uint32_t, bool>& written) const {
    const Trace& trace = facts_.trace(side);
    const std::size_t end = side == Side::kA ? end_a_ : end_b_;
    for (std::size_t op = 0; op < end; ++op) {
      if (facts_.Match(side, op) >= 0) continue;
      for (std::uint64_t t = trace.first_tensor[op]; t < trace.first_tensor[op + 1]; ++t) {
        if (facts_.SlotOf(side, t).role == Role::kMutated) written[trace.tensor_storage[t]] = false;
      }
    }
  }

  void PairStorages(std::size_t op_a, std::size_t op_b) {
    facts_.ForEachPair(op_a, op_b, [&](const RecordPair& pair) {
      if (pair.a < 0 || pair.b < 0) return;
      const std::uint32_t storage_a = facts_.pair().a.tensor_storage[Index(pair.a)];
      const std::uint32_t storage_b = facts_.pair().b.tensor_storage[Index(pair.b)];
      const auto a = written_a_.find(storage_a);
      const auto b = written_b_.find(storage_b);
      if (a == written_a_.end() && b == written_b_.end()) return;
      if ((a != written_a_.end() && a->second) || (b != written_b_.end() && b->second)) return;
      if (a != written_a_.end()) a->second = true;
      if (b != written_b_.end()) b->second = true;
      CompareLast(storage_a, storage_b);
    });
  }

  void CompareLast(std::uint32_t storage_a, std::uint32_t storage_b) {
    const StorageIndex &a = explainer_.index(Side::kA), &b = explainer_.index(Side::kB);
    std::int64_t last_a = a.LastValue(storage_a, 0, end_a_);
    std::int64_t last_b = b.LastValue(storage_b, 0, end_b_);
    if (last_a < 0 || last_b < 0) return;
    const std::uint32_t of_a = facts_.pair().a.tensor_geometry[Index(last_a)];
    const std::uint32_t of_b = facts_.pair().b.tensor_geometry[Index(last_b)];
    if (of_a != of_b) {
      // The written one decides which place is compared.
      if (IsUnmatchedWrite(Side::kA, last_a)) {
        last_b = b.LastValue(storage_b, of_a, end_b_);
      } else {
        last_a = a.LastValue(storage_a, of_b, end_a_);
      }
    }
    if (last_a < 0 || last_b < 0) return;
    if ((facts_.Compare(Index(last_a), Index(last_b)) & kContentBits) == 0) return;
    AddIfUnmatched(Side::kA, last_a);
    AddIfUnmatched(Side::kB, last_b);
  }

  bool IsUnmatchedWrite(Side side, std::int64_t record) const {
    return facts_.SlotOf(side, Index(record)).role != Role::kInput &&
           facts_.Match(side, explainer_.index(side).OpOf(Index(record))) < 0;
  }
  void AddIfUnmatched(Side side, std::int64_t record) {
    if (!IsUnmatchedWrite(side, record)) return;
    causes_.push_back({side, Index(record), explainer_.index(side).OpOf(Index(record))});
  }

  const PairFacts& facts_;
  const Explainer& explainer_;
  std::size_t end_a_, end_b_;
  std::unordered_map<std::uint32_t, bool> written_a_, written_b_;  // storage -> compared
  std::vector<Cause> causes_;
};

}  // namespace

std::vector<Cause> DifferingFinalValues(const PairFacts& facts, const Explainer& explainer) {
  return FinalValues(facts, explainer).Find();
}

}  // namespace opguard::analysis
