// Writes whole lines to a pipe, socket or file from several threads.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "transport/unique_fd.h"

namespace opguard::mcp {

// Thread-safe. Blocks while the reader at the other end does not read, until GiveUpAfter.
class LineWriter {
 public:
  // `on_broken` is called once, when nobody reads any more (or writing fails otherwise).
  LineWriter(UniqueFd fd, std::function<void()> on_broken);

  // Adds the newline. Dropped once the writer is broken or gave up.
  void Write(const std::string& line);
  // From `deadline` on nothing waits for the reader: what does not go out is dropped.
  void GiveUpAfter(std::chrono::steady_clock::time_point deadline);

 private:
  enum class Progress { kWritten, kFull, kBroken };
  Progress WriteSome(std::string_view& rest) const;
  bool WaitUntilWritable() const;

  const UniqueFd fd_;
  const bool is_socket_;
  const std::function<void()> on_broken_;
  std::mutex mutex_;
  bool is_closed_ = false;
  std::atomic<std::chrono::steady_clock::time_point> deadline_;
};

}  // namespace opguard::mcp
