// SIGTERM and SIGINT as events; SIGPIPE without effect.
#pragma once

#include <signal.h>

#include <array>

#include "transport/event_pipe.h"

namespace opguard::mcp {

// For its lifetime. One at a time in a process. A signal that was ignored before stays ignored
// (nohup, background jobs). Handlers instead of a signal mask or SIG_IGN, because children inherit
// those and a user's training must get its signals as ever.
class StopSignals {
 public:
  // Each SIGTERM or SIGINT sends `event` to `events`, which must outlive this.
  StopSignals(const EventPipe& events, char event);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace opguard::mcp
