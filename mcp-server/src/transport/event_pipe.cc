#include "transport/event_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace opguard::mcp {

EventPipe::EventPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  read_ = UniqueFd(ends[0]);
  write_ = UniqueFd(ends[1]);
}

void EventPipe::Send(char event) const {
  const int saved = errno;
  while (write(write_.get(), &event, 1) < 0 && errno == EINTR) {
  }
  errno = saved;
}

std::optional<char> EventPipe::Receive(std::chrono::milliseconds patience) const {
  for (;;) {
    char event = 0;
    const ssize_t count = read(read_.get(), &event, 1);
    if (count == 1) return event;
    pollfd ready = {read_.get(), POLLIN, 0};
    const int found = poll(&ready, 1, static_cast<int>(patience.count()));
    if (found == 0) return std::nullopt;
  }
}

}  // namespace opguard::mcp
