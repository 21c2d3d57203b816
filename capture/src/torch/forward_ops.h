// Which op of a thread created the autograd node with a sequence number.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace opguard::capture {

// A ring over sequence numbers: it grows to a million numbers and then forgets the oldest.
// Thread-safe: a backward pass may ask from another thread.
class ForwardOps {
 public:
  // Several calls carry one number until a node takes it; the last of them created the node.
  void Set(std::int64_t sequence, std::int64_t op) {
    const std::lock_guard lock(mutex_);
    if (slots_.empty()) slots_.resize(kFirst);
    const Slot& old = At(sequence);
    if (old.op != 0 && old.sequence != sequence && slots_.size() < kMost) Grow();
    At(sequence) = {sequence, op};
  }
  // 0 if unknown.
  std::int64_t Get(std::int64_t sequence) {
    const std::lock_guard lock(mutex_);
    if (slots_.empty() || sequence < 0) return 0;
    const Slot& slot = At(sequence);
    return slot.sequence == sequence ? slot.op : 0;
  }

 private:
  static constexpr std::size_t kFirst = 1 << 12, kMost = 1 << 20;
  struct Slot {
    std::int64_t sequence = -1, op = 0;
  };
  Slot& At(std::int64_t sequence) {
    return slots_[static_cast<std::size_t>(sequence) & (slots_.size() - 1)];
  }
  void Grow() {
    const std::vector<Slot> old = std::move(slots_);
    slots_.assign(2 * old.size(), {});
    for (const Slot& slot : old) {
      if (slot.op != 0) At(slot.sequence) = slot;
    }
  }
  std::mutex mutex_;
  std::vector<Slot> slots_;
};

}  // namespace opguard::capture
