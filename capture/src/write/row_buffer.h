// Rows of finished ops of one lane, waiting for the writer.
#pragma once

#include <mutex>
#include <vector>

#include "opguard/store/records.h"

namespace opguard::capture {

// The lane's thread appends, the writer takes; `mutex` guards the vectors.
struct RowBuffer {
  std::mutex mutex;
  std::vector<store::OpRow> ops;
  std::vector<store::TensorRow> tensors;
  std::vector<store::StatisticRow> statistics;
  std::vector<store::RngRow> rngs;

  // Moves all rows to the end of `batch`'s and keeps the memory.
  void TakeInto(store::Batch& batch) {
    const std::lock_guard lock(mutex);
    const auto move = [](auto& from, auto& to) {
      to.insert(to.end(), from.begin(), from.end());
      from.clear();
    };
    move(ops, batch.ops);
    move(tensors, batch.tensors);
    move(statistics, batch.statistics);
    move(rngs, batch.rngs);
  }
};

}  // namespace opguard::capture
