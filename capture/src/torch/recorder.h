// One process's recording: what all lanes share.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../write/catalogue.h"
#include "../write/config.h"
#include "../write/trace_output.h"
#include "lane.h"
#include "opguard/store/result.h"
#include "stacks.h"
#include "steps.h"
#include "storages.h"

namespace c10 {
struct FunctionSchema;
}

namespace opguard::capture {

// Why calls are left out; further reasons come from opguard_suspend.
enum SkipReason : std::size_t { kSkipFake, kSkipCompile, kSkipWrapper, kMostSkipReasons = 8 };

// Made by opguard_start, and anew in a forked child. Thread-safe unless noted.
class Recorder {
 public:
  Recorder(Config config, bool auxiliary, std::map<std::string, std::string> environment);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  bool active() const { return active_.load(std::memory_order_relaxed); }
  // Switches recording off for good: reports once, marks the trace. Never throws.
  void Disable(const std::string& code, const std::string& text) noexcept;

  // The calling thread's lane, made on first use.
  Lane& ThisLane();
  // The lane of torch's logical thread id, or null.
  Lane* LaneOfThread(std::uint64_t thread);

  std::int64_t NewOp();            // the first one starts the writer
  void ReturnOp(std::int64_t op);  // if no later one was given out
  std::int64_t NextOp() const { return next_op_.load(std::memory_order_relaxed); }
  std::int64_t NewTensors(std::int64_t count);
  const OperatorFacts& Facts(Lane& lane, const c10::FunctionSchema& schema);
  // The index of a reason by name; the last one stands for all that have no room.
  std::size_t SkipReasonOf(std::string_view name);
  void CountSkipped(std::size_t reason) {
    skipped_[reason].fetch_add(1, std::memory_order_relaxed);
  }
  void CountBytes(std::int64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  // False if the writer cannot keep up: the caller drops its rows, and so does everybody until the
  // step is over.
  bool Admit(std::int64_t rows);

  Result<void> Flush();
  Result<void> Stop();
  // Around fork(), on the thread that forks. The child must leave this recorder alone.
  void BeforeFork();
  void AfterForkInParent();

  const Config config;
  Catalogue catalogue;
  Storages storages;
  Stacks stacks;
  Steps steps;

 private:
  void StartOutput();
  std::int64_t Take(store::Batch& batch);
  void PutCounts();
  std::string LaneName();

  const bool auxiliary_;
  std::atomic<bool> active_ = true, output_started_ = false;
  std::atomic<std::int64_t> next_op_ = 1, next_tensor_ = 1, bytes_ = 0, dropping_step_ = 0;
  std::array<std::atomic<std::int64_t>, kMostSkipReasons> skipped_{};
  std::array<std::int64_t, kMostSkipReasons + 1> written_counts_;  // of the writer's thread

  std::mutex skip_mutex_;
  std::vector<std::string> skip_names_{"fake", "compile", "wrapper"};

  std::mutex lanes_mutex_;  // guards the lanes
  std::deque<Lane> lanes_;
  std::unordered_map<std::uint64_t, Lane*> lanes_by_thread_;
  std::int64_t plain_threads_ = 0;

  std::mutex facts_mutex_;  // guards the facts
  std::unordered_map<const c10::FunctionSchema*, std::unique_ptr<OperatorFacts>> facts_;
  std::vector<std::unique_ptr<OperatorFacts>> retired_facts_;

  std::mutex output_mutex_;  // guards output_'s making and ending
  std::unique_ptr<TraceOutput> output_;
  std::mutex disable_mutex_;
};

}  // namespace opguard::capture
