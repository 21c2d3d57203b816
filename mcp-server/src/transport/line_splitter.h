// Cuts a stream of bytes into lines of bounded length.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace opguard::mcp {

// Keeps at most `max_bytes` of a line; of a longer one everything up to its newline is skipped and
// reported once. Not thread-safe. Handlers must not call back.
class LineSplitter {
 public:
  LineSplitter(std::size_t max_bytes, std::function<void(std::string_view line)> on_line,
               std::function<void()> on_oversize);

  void Feed(std::string_view bytes);
  // The stream has ended: what stands there without a newline is a line too.
  void Finish();

 private:
  void Take(std::string_view bytes);
  void EndLine();

  const std::size_t max_bytes_;
  const std::function<void(std::string_view)> on_line_;
  const std::function<void()> on_oversize_;
  std::string line_;  // its beginning, from earlier calls
  bool is_skipping_ = false;
};

}  // namespace opguard::mcp
