// Python call stacks as interned rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "hash.h"

namespace torch {
struct CapturedTraceback;
}

namespace opguard::capture {

class Catalogue;

// Every (code object, instruction) is symbolised once, when it is first seen, and the traceback
// that held it is kept, so that the address of its code object is not reused. Thread-safe; no lock
// is held while Python is called.
class Stacks {
 public:
  explicit Stacks(Catalogue& catalogue);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  // The stack of one thread that was gathered last, kept by the caller from call to call.
  struct Last {
    std::vector<std::uint64_t> keys;   // root first: code object and instruction, mixed
    std::vector<std::int64_t> stacks;  // the stack down to each
    std::uint64_t generation = 0;
  };

  // The calling thread's Python stack; 0 on a thread without one.
  std::int64_t Gather(Last& last);

 private:
  std::int64_t FrameOf(const torch::CapturedTraceback& traceback, std::size_t index);
  void Symbolize(const std::shared_ptr<torch::CapturedTraceback>& traceback);
  bool KnowsAll(const torch::CapturedTraceback& traceback);

  Catalogue& catalogue_;
  std::mutex mutex_;
  FlatMap<std::int64_t> frames_;  // by code object and instruction; 0: not shown
  FlatMap<std::int64_t> stacks_;  // by parent and frame
  std::vector<std::shared_ptr<torch::CapturedTraceback>> kept_;
  std::atomic<std::uint64_t> generation_ = 1;  // changes when kept_ is dropped
};

}  // namespace opguard::capture
