#include "transport/worker_pool.h"

#include <system_error>
#include <utility>

namespace opguard::mcp {

WorkerPool::WorkerPool(std::size_t max_threads)
    : max_threads_(max_threads), state_(std::make_shared<State>()) {}

WorkerPool::~WorkerPool() { Stop(std::chrono::milliseconds(0)); }

void WorkerPool::Work(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    ++state->idle;
    state->wake.wait(lock, [&] { return state->is_stopping || !state->queue.empty(); });
    --state->idle;
    if (state->queue.empty()) break;
    std::function<void()> task = std::move(state->queue.front());
    state->queue.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds must not be destroyed under the lock
    lock.lock();
  }
  --state->living;
  state->ended.notify_all();
}

bool WorkerPool::StartThread() {
  try {
    threads_.emplace_back(Work, state_);
    ++state_->living;
    return true;
  } catch (const std::system_error&) {  // out of threads
    return state_->living > 0;
  }
}

void WorkerPool::Run(std::function<void()> task) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->is_stopping) return;
    const bool is_short = state_->idle <= state_->queue.size();
    if (!is_short || state_->living >= max_threads_ || StartThread()) {
      state_->queue.push_back(std::move(task));
      state_->wake.notify_one();
      return;
    }
  }
  task();
}

bool WorkerPool::Stop(std::chrono::milliseconds patience) {
  std::vector<std::thread> threads;
  std::deque<std::function<void()>> dropped;
  bool is_done = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->is_stopping = true;
    dropped.swap(state_->queue);
    threads.swap(threads_);
    state_->wake.notify_all();
    is_done = state_->ended.wait_for(lock, patience, [this] { return state_->living == 0; });
  }
  for (std::thread& thread : threads) {
    if (is_done) {
      thread.join();
    } else {
      thread.detach();
    }
  }
  return is_done;
}

}  // namespace opguard::mcp
