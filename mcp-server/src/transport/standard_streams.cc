#include "transport/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace opguard::mcp {
namespace {

constexpr int kLowest = 10;  // low descriptors have fixed meanings in supervised children

}  // namespace

int ClaimStandardStreams(StandardStreams& streams) {
  std::fflush(stdout);
  streams.in = UniqueFd(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, kLowest));
  if (!streams.in) return errno;
  streams.out = UniqueFd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kLowest));
  if (!streams.out) return errno;
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return errno;
  if (dup2(null.get(), STDIN_FILENO) < 0) return errno;
  if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0 && dup2(null.get(), STDOUT_FILENO) < 0) return errno;
  return 0;
}

}  // namespace opguard::mcp
