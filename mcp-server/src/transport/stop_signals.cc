#include "transport/stop_signals.h"

#include <atomic>

namespace opguard::mcp {
namespace {

constexpr std::array<int, 3> kSignals = {SIGTERM, SIGINT, SIGPIPE};

std::atomic<const EventPipe*> target{nullptr};
std::atomic<char> target_event{0};

void Handle(int signal) {
  const EventPipe* events = target.load();
  if (signal != SIGPIPE && events) events->Send(target_event.load());
}

}  // namespace

StopSignals::StopSignals(const EventPipe& events, char event) {
  target_event = event;
  target = &events;
  struct sigaction action {};
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  target = nullptr;
}

}  // namespace opguard::mcp
