// Events of one byte that threads and signal handlers send to one waiting thread.
#pragma once

#include <chrono>
#include <optional>

#include "transport/unique_fd.h"

namespace opguard::mcp {

// Thread-safe; Send is also safe in a signal handler.
class EventPipe {
 public:
  EventPipe();
  // False if the system had no descriptors left.
  bool is_open() const { return static_cast<bool>(write_); }

  // Dropped if thousands were not received yet.
  void Send(char event) const;
  // Nothing if none comes in time; a negative `patience` waits for ever.
  std::optional<char> Receive(std::chrono::milliseconds patience) const;
  int receive_fd() const { return read_.get(); }
  int send_fd() const { return write_.get(); }

 private:
  UniqueFd read_, write_;
};

}  // namespace opguard::mcp
