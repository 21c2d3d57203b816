#include "cli/cli_context.h"

#include <spdlog/spdlog.h>

#include <csignal>
#include <ctime>
#include <utility>

namespace opguard::cli {
namespace {

sigset_t EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

CliContext::CliContext(bool show_progress) : show_progress_(show_progress) {
  const sigset_t signals = EndSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  watcher_ = std::thread([this] { Watch(); });
}

CliContext::~CliContext() {
  done_ = true;
  pthread_kill(watcher_.native_handle(), SIGTERM);  // an answer must not wait for the time-out
  watcher_.join();
}

void CliContext::Watch() {
  const sigset_t signals = EndSignals();
  const timespec wait{0, 100'000'000};
  while (!done_) {
    if (sigtimedwait(&signals, nullptr, &wait) < 0 || done_) continue;
    std::vector<std::function<void()>> actions;
    {
      const std::lock_guard lock(mutex_);
      if (cancelled_.exchange(true)) continue;
      actions.swap(actions_);
    }
    for (const auto& action : actions) action();
  }
}

void CliContext::OnCancel(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
    if (!cancelled_) {
      actions_.push_back(std::move(action));
      return;
    }
  }
  action();
}

void CliContext::Progress(double, std::optional<double>, const std::string& message) {
  if (!show_progress_ || message == last_message_) return;
  last_message_ = message;
  spdlog::info("{}", message);
}

}  // namespace opguard::cli
