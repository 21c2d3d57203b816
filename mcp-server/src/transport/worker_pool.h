// Threads for calls that take their time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace opguard::mcp {

// Starts a thread when a task comes and none is idle, up to a limit; further tasks queue up in
// order. Thread-safe. Tasks must not throw.
class WorkerPool {
 public:
  explicit WorkerPool(std::size_t max_threads);
  // Stop(0).
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // If not a single thread can be started the task runs on this one. Dropped after Stop.
  void Run(std::function<void()> task);
  // Drops what waits, and waits for what runs. False if tasks still run after `patience`: their
  // threads go on by themselves.
  bool Stop(std::chrono::milliseconds patience);

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable wake, ended;
    std::deque<std::function<void()>> queue;
    std::size_t idle = 0, living = 0;
    bool is_stopping = false;
  };
  static void Work(const std::shared_ptr<State>& state);
  bool StartThread();

  const std::size_t max_threads_;
  const std::shared_ptr<State> state_;  // outlives the pool in threads that were left behind
  std::vector<std::thread> threads_;    // guarded by state_->mutex
};

}  // namespace opguard::mcp
