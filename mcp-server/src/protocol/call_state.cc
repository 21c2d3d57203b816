#include "protocol/call_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "protocol/rpc.h"

namespace opguard::mcp {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{500};
constexpr std::chrono::seconds kMessageInterval{10};

void RunAction(const std::function<void()>& action) {
  try {
    action();
  } catch (...) {  // the reader thread must survive a handler's mistake
  }
}

// The least that clients with fewer digits still see as an increase.
double SlightlyAbove(double progress) {
  const double step = std::max(1e-3, std::abs(progress) * 1e-6);
  return progress + step;
}

}  // namespace

CallState::CallState(Json progress_token, Notify notify, Clock clock)
    : progress_token_(std::move(progress_token)),
      notify_(std::move(notify)),
      clock_(std::move(clock)) {}

bool CallState::cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_.has_value();
}

void CallState::OnCancel(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    if (!cancelled_) {
      actions_.push_back(std::move(action));
      return;
    }
  }
  RunAction(action);
}

bool CallState::Cancel(Reason reason) {
  std::vector<std::function<void()>> actions;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || cancelled_) return false;
    cancelled_ = reason;
    actions.swap(actions_);
    ++running_actions_;
  }
  for (const auto& action : actions) RunAction(action);
  const std::lock_guard lock(mutex_);
  --running_actions_;
  actions_done_.notify_all();
  return true;
}

bool CallState::Close() {
  std::unique_lock lock(mutex_);
  actions_done_.wait(lock, [this] { return running_actions_ == 0; });
  closed_ = true;
  actions_.clear();
  return cancelled_ != Reason::kClient;
}

std::optional<double> CallState::NextProgress(double progress, const std::string& message,
                                              std::chrono::steady_clock::time_point now) const {
  if (!last_) return progress;
  const auto since = now - last_->time;
  if (progress > last_->progress) {
    return since >= kProgressInterval ? std::optional(progress) : std::nullopt;
  }
  if (since < kMessageInterval || message == last_->message) return std::nullopt;
  return SlightlyAbove(last_->progress);
}

void CallState::Progress(double progress, std::optional<double> total, const std::string& message) {
  if (progress_token_.is_null() || !std::isfinite(progress)) return;
  const std::lock_guard lock(mutex_);  // held while sending: nothing follows Close or Cancel
  if (closed_ || cancelled_) return;
  const auto now = clock_();
  const std::optional<double> next = NextProgress(progress, message, now);
  if (!next) return;
  Json params = {{"progressToken", progress_token_}, {"progress", *next}};
  if (total && std::isfinite(*total) && *total >= *next) params["total"] = *total;
  if (!message.empty()) params["message"] = message;
  last_ = Sent{*next, message, now};
  notify_(MakeNotification("notifications/progress", std::move(params)));
}

}  // namespace opguard::mcp
