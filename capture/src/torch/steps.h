// Counts optimizer steps and keeps the window of steps to record.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace opguard::capture {

class Catalogue;
struct Config;

// A step ends with the last Optimizer.step event before the next forward op; what runs between
// that event and the forward op belongs to the next step. Thread-safe.
class Steps {
 public:
  Steps(const Config& config, Catalogue& catalogue);

  // An Optimizer.step event begins or ends; `next_op` is the id that the next op will have.
  void OnOptimizerBegin();
  void OnOptimizerEnd(std::int64_t next_op);
  // A forward op runs (not one of an activation recompute).
  void OnForward() {
    if (pending_.load(std::memory_order_relaxed)) Advance();
  }
  // Whether ops are to be recorded now. Between a step's last optimizer event and the next forward
  // op it is open if either step is in the window.
  bool Recording() const { return recording_.load(std::memory_order_relaxed); }
  // Whether the last step of the window is recorded. Inside an Optimizer.step event of that step:
  // whether it is as many events into the step as the earlier steps had.
  bool PastWindow();
  std::int64_t current() const { return current_.load(std::memory_order_relaxed); }

 private:
  void Advance();
  void UpdateWindow();
  bool InWindow(std::int64_t step) const;

  const std::int64_t first_, count_;
  Catalogue& catalogue_;
  std::atomic<bool> pending_ = false, recording_ = false;
  std::atomic<std::int64_t> current_ = 1;
  std::mutex mutex_;
  std::int64_t boundary_ = 1;  // first op of the next step while pending_
  std::int64_t events_ = 0, most_events_ = 0;
};

}  // namespace opguard::capture
