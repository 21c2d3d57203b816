#include "recorder.h"

#include <ATen/record_function.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "../write/sources.h"
#include "../write/trouble.h"

namespace opguard::capture {
namespace {

std::string Variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

std::string UnixTime() {
  return std::to_string(
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
}

std::string Rank() {
  const std::string rank = Variable("RANK", "0");
  return rank.find_first_not_of("0123456789") == std::string::npos ? rank : "0";
}

std::string TracePath(const Config& config) {
  static std::atomic<int> count = 0;
  const int number = ++count;
  std::string path = config.directory;
  path.append("/rank").append(Rank()).append("-").append(std::to_string(getpid()));
  if (number > 1) path.append("-").append(std::to_string(number));
  return path.append(".opguard");
}

}  // namespace

Recorder::Recorder(Config given, bool auxiliary, std::map<std::string, std::string> environment)
    : config(std::move(given)),
      storages(catalogue),
      stacks(catalogue),
      steps(config, catalogue),
      auxiliary_(auxiliary) {
  written_counts_.fill(-1);
  for (auto& [key, value] : environment) catalogue.SetEnvironment(key, std::move(value));
}

Recorder::~Recorder() = default;

void Recorder::Disable(const std::string& code, const std::string& message) noexcept {
  try {
    const std::string text = message.substr(0, message.find('\n'));  // torch adds its C++ stack
    const std::lock_guard lock(disable_mutex_);
    if (!active_.exchange(false)) return;
    catalogue.AddNote(0, code, text);
    catalogue.SetTrace("status", "disabled");
    ReportTrouble(config.directory, code, text);
  } catch (...) {
    active_ = false;
  }
}

Lane& Recorder::ThisLane() {
  const std::uint64_t thread = at::RecordFunction::currentThreadId();
  const std::lock_guard lock(lanes_mutex_);
  Lane*& lane = lanes_by_thread_[thread];
  if (lane == nullptr) {
    lane = &lanes_.emplace_back();
    lane->id = catalogue.Lane(LaneName());
    lane->thread = thread;
  }
  return *lane;
}

std::string Recorder::LaneName() {
  if (syscall(SYS_gettid) == getpid()) return "main";
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  constexpr std::string_view kAutograd = "pt_autograd_";
  if (std::string_view(name).starts_with(kAutograd)) {
    return std::string("autograd.") + (name + kAutograd.size());
  }
  return "thread." + std::to_string(++plain_threads_);
}

Lane* Recorder::LaneOfThread(std::uint64_t thread) {
  const std::lock_guard lock(lanes_mutex_);
  const auto at = lanes_by_thread_.find(thread);
  return at == lanes_by_thread_.end() ? nullptr : at->second;
}

std::int64_t Recorder::NewOp() {
  if (!output_started_.load(std::memory_order_acquire)) StartOutput();
  return next_op_.fetch_add(1, std::memory_order_relaxed);
}

void Recorder::ReturnOp(std::int64_t op) {
  std::int64_t expected = op + 1;
  next_op_.compare_exchange_strong(expected, op, std::memory_order_relaxed);
}

std::int64_t Recorder::NewTensors(std::int64_t count) {
  return next_tensor_.fetch_add(count, std::memory_order_relaxed);
}

const OperatorFacts& Recorder::Facts(Lane& lane, const c10::FunctionSchema& schema) {
  const OperatorFacts*& cached = lane.operators[&schema];
  if (cached != nullptr && SameOperator(*cached, schema)) return *cached;
  const std::lock_guard lock(facts_mutex_);
  auto& facts = facts_[&schema];
  if (facts == nullptr || !SameOperator(*facts, schema)) {
    if (facts != nullptr) retired_facts_.push_back(std::move(facts));
    facts = ReadOperatorFacts(schema, catalogue);
  }
  cached = facts.get();
  return *facts;
}

std::size_t Recorder::SkipReasonOf(std::string_view name) {
  const std::lock_guard lock(skip_mutex_);
  for (std::size_t i = 0; i < skip_names_.size(); ++i) {
    if (skip_names_[i] == name) return i;
  }
  if (skip_names_.size() + 1 == kMostSkipReasons) skip_names_.emplace_back("other");
  if (skip_names_.size() < kMostSkipReasons) skip_names_.emplace_back(name);
  return skip_names_.size() - 1;
}

bool Recorder::Admit(std::int64_t rows) {
  const std::int64_t step = steps.current();
  if (dropping_step_.load(std::memory_order_relaxed) == step) return false;
  if (output_->Admit(rows)) return true;
  if (dropping_step_.exchange(step) != step) {
    catalogue.AddGap(step, step, "the trace could not be written as fast as the training ran");
  }
  return false;
}

void Recorder::StartOutput() {
  const std::lock_guard lock(output_mutex_);
  if (output_ != nullptr || !active()) return;
  catalogue.SetTrace("opguard", OPGUARD_VERSION);
  catalogue.SetTrace("mode", config.trusted ? "trusted" : "full");
  catalogue.SetTrace("level", config.inner ? "inner" : "outer");
  catalogue.SetTrace("rank", Rank());
  catalogue.SetTrace("world_size", Variable("WORLD_SIZE", "1"));
  catalogue.SetTrace("local_rank", Variable("LOCAL_RANK", "0"));
  catalogue.SetTrace("role", auxiliary_ ? "auxiliary" : "rank");
  catalogue.SetTrace("pid", std::to_string(getpid()));
  catalogue.SetTrace("parent_pid", std::to_string(getppid()));
  catalogue.SetTrace("started_unix", UnixTime());
  output_ = std::make_unique<TraceOutput>(
      TracePath(config),
      TraceOutput::Hooks{[this](store::Batch& batch) { return Take(batch); },
                         [this](const Error& error) {
                           Disable(error.code == ErrorCode::kIo ? "io_error" : "write_error",
                                   "the trace cannot be written: " + error.message);
                         }});
  output_started_.store(true, std::memory_order_release);
}

std::int64_t Recorder::Take(store::Batch& batch) {
  {
    const std::lock_guard lock(lanes_mutex_);
    for (Lane& lane : lanes_) lane.rows.TakeInto(batch);
  }
  PutCounts();
  // After the rows, so that the facts they refer to are there.
  std::vector<std::pair<std::int64_t, std::string>> sources;
  catalogue.Take(batch, sources);
  for (const auto& [id, path] : sources) batch.sources.push_back(ReadSource(id, path));
  return static_cast<std::int64_t>(batch.ops.size() + batch.tensors.size());
}

void Recorder::PutCounts() {
  const auto put = [this](std::size_t i, const std::string& key, std::int64_t count) {
    if (count == written_counts_[i]) return;
    written_counts_[i] = count;
    catalogue.SetTrace(key, std::to_string(count));
  };
  const std::lock_guard lock(skip_mutex_);
  for (std::size_t i = 0; i < skip_names_.size(); ++i) {
    put(i, "skipped." + skip_names_[i], skipped_[i].load());
  }
  put(kMostSkipReasons, "fingerprinted_bytes", bytes_.load());
}

Result<void> Recorder::Flush() {
  const std::lock_guard lock(output_mutex_);
  return output_ == nullptr ? Result<void>{} : output_->Flush();
}

void Recorder::BeforeFork() {
  output_mutex_.lock();
  if (output_ != nullptr) output_->BeforeFork();
}

void Recorder::AfterForkInParent() {
  if (output_ != nullptr) output_->AfterForkInParent();
  output_mutex_.unlock();
}

Result<void> Recorder::Stop() {
  const std::lock_guard lock(output_mutex_);
  const bool was_active = active_.exchange(false);
  if (output_ == nullptr) return {};
  catalogue.SetTrace("finished_unix", UnixTime());
  return output_->Finish(was_active ? "complete" : "disabled");
}

}  // namespace opguard::capture
