#include "transport/line_writer.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace opguard::mcp {
namespace {

constexpr int kLookEveryMs = 50;  // at the deadline, while the reader does not read

bool IsSocket(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

}  // namespace

LineWriter::LineWriter(UniqueFd fd, std::function<void()> on_broken)
    : fd_(std::move(fd)),
      is_socket_(IsSocket(fd_.get())),
      on_broken_(std::move(on_broken)),
      deadline_(std::chrono::steady_clock::time_point::max()) {}

// Never blocks, though the descriptor does: O_NONBLOCK would change it for the other processes that
// share it. A pipe that is writable takes PIPE_BUF bytes at once.
LineWriter::Progress LineWriter::WriteSome(std::string_view& rest) const {
  const ssize_t written =
      is_socket_ ? send(fd_.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                 : write(fd_.get(), rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
  if (written >= 0) {
    rest.remove_prefix(static_cast<std::size_t>(written));
    return Progress::kWritten;
  }
  return errno == EINTR || errno == EAGAIN ? Progress::kFull : Progress::kBroken;
}

bool LineWriter::WaitUntilWritable() const {
  for (;;) {
    pollfd ready = {fd_.get(), POLLOUT, 0};
    if (poll(&ready, 1, kLookEveryMs) > 0) return true;
    if (std::chrono::steady_clock::now() >= deadline_.load()) return false;
  }
}

void LineWriter::Write(const std::string& line) {
  const std::string text = line + '\n';
  std::unique_lock lock(mutex_);
  std::string_view rest = text;
  while (!is_closed_ && !rest.empty()) {
    if (!WaitUntilWritable()) {
      is_closed_ = true;
    } else if (WriteSome(rest) == Progress::kBroken) {
      is_closed_ = true;
      lock.unlock();
      on_broken_();
      return;
    }
  }
}

void LineWriter::GiveUpAfter(std::chrono::steady_clock::time_point deadline) {
  deadline_.store(deadline);
}

}  // namespace opguard::mcp
