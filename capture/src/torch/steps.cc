#include "steps.h"

#include <algorithm>

#include "../write/catalogue.h"
#include "../write/config.h"

namespace opguard::capture {

Steps::Steps(const Config& config, Catalogue& catalogue)
    : first_(config.from_step), count_(config.steps), catalogue_(catalogue) {
  catalogue_.AddStep(1, 1);
  UpdateWindow();
}

bool Steps::InWindow(std::int64_t step) const {
  return step >= first_ && (count_ == 0 || step < first_ + count_);
}

void Steps::UpdateWindow() {
  const std::int64_t step = current();
  recording_ = InWindow(step) || (pending_ && InWindow(step + 1));
}

void Steps::OnOptimizerBegin() {
  const std::lock_guard lock(mutex_);
  ++events_;
}

void Steps::OnOptimizerEnd(std::int64_t next_op) {
  const std::lock_guard lock(mutex_);
  boundary_ = next_op;
  pending_ = true;
  UpdateWindow();
}

void Steps::Advance() {
  const std::lock_guard lock(mutex_);
  if (!pending_) return;
  pending_ = false;
  most_events_ = std::max(most_events_, events_);
  events_ = 0;
  ++current_;
  catalogue_.AddStep(current(), boundary_);
  UpdateWindow();
}

bool Steps::PastWindow() {
  const std::lock_guard lock(mutex_);
  if (count_ == 0) return false;
  const std::int64_t last = first_ + count_ - 1;
  if (current() != last) return current() > last;
  return most_events_ > 0 && events_ >= most_events_;
}

}  // namespace opguard::capture
