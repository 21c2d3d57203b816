#include "runner/bounded_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace opguard::runner {

BoundedLog::~BoundedLog() { Close(); }

bool BoundedLog::Open(const std::string& path, const LogLimits& limits) {
  Close();
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  limits_ = limits;
  size_ = tail_start_ = left_out_ = 0;
  return fd_ >= 0;
}

void BoundedLog::Append(std::string_view bytes) {
  if (fd_ < 0) return;
  const std::uint64_t most = limits_.head_bytes + 2 * limits_.tail_bytes;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, std::max<std::uint64_t>(limits_.tail_bytes, 1));
    if (size_ + part.size() > most) Compact();
    if (!Write(part)) left_out_ += part.size();
    bytes.remove_prefix(part.size());
  }
}

void BoundedLog::Close() {
  if (fd_ < 0) return;
  const std::uint64_t tail_start = tail_start_ ? tail_start_ : limits_.head_bytes;
  if (size_ > tail_start + limits_.tail_bytes) Compact();
  close(fd_);
  fd_ = -1;
}

bool BoundedLog::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    size_ += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void BoundedLog::Compact() {
  std::uint64_t begin = tail_start_ ? tail_start_ : limits_.head_bytes;
  if (size_ <= begin + limits_.tail_bytes) return;
  std::string tail(limits_.tail_bytes, '\0');
  const std::uint64_t from = size_ - limits_.tail_bytes;
  const ssize_t n = pread(fd_, tail.data(), tail.size(), static_cast<off_t>(from));
  if (n != static_cast<ssize_t>(tail.size())) return;
  left_out_ += from - begin;
  const std::string mark = "\n[opguard: " + std::to_string(left_out_) + " bytes left out here]\n";
  size_ = limits_.head_bytes;
  if (!Write(mark)) return;
  tail_start_ = size_;
  if (Write(tail)) (void)!ftruncate(fd_, static_cast<off_t>(size_));
}

}  // namespace opguard::runner
