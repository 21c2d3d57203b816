// A log file of bounded size: its beginning and its end are kept, the middle is left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace opguard::runner {

struct LogLimits {
  std::uint64_t head_bytes = 1 << 20;  // kept from the beginning
  std::uint64_t tail_bytes = 4 << 20;  // kept from the end
};

// Writes what it is given to `path` as it comes. Once more than head + 2 * tail bytes are there,
// the middle is replaced by one line that says how many bytes were left out, so that the file is
// in order and readable at any time, also after a crash. Not thread-safe; a write that fails
// (disk full) is counted as left out.
class BoundedLog {
 public:
  BoundedLog() = default;
  ~BoundedLog();
  BoundedLog(const BoundedLog&) = delete;
  BoundedLog& operator=(const BoundedLog&) = delete;

  // Creates or truncates the file; false with errno set when that fails.
  bool Open(const std::string& path, const LogLimits& limits);
  void Append(std::string_view bytes);
  // Leaves out what exceeds the limits and closes the file. Done by the destructor as well.
  void Close();

 private:
  bool Write(std::string_view bytes);
  void Compact();

  int fd_ = -1;
  LogLimits limits_;
  std::uint64_t size_ = 0;        // of the file
  std::uint64_t tail_start_ = 0;  // where the end begins; 0 while nothing was left out
  std::uint64_t left_out_ = 0;
};

}  // namespace opguard::runner
