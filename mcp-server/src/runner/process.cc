#include "runner/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runner/files.h"

namespace opguard::runner {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

tl::unexpected<Error> SystemError(const std::string& what) {
  return Fail(ErrorCode::kIo, fmt::format("{}: {}", what, std::strerror(errno)));
}

SupervisorOrder OrderOf(const ProcessSpec& spec) {
  SupervisorOrder order;
  order.argv = spec.argv;
  order.environment = spec.environment;
  order.workdir = spec.workdir;
  order.stdout_path = spec.stdout_path;
  order.stderr_path = spec.stderr_path;
  order.lock_path = spec.lock_path;
  order.limits = spec.limits;
  order.leftover_grace_ms = static_cast<std::uint64_t>(spec.leftover_grace.count());
  order.kill_after_ms = static_cast<std::uint64_t>(spec.kill_after.count());
  order.foreground = spec.stdout_path.empty() && spec.stderr_path.empty();
  return order;
}

// A file in memory with the order, or -1. Above 10, so that dup2 to 3 and 4 cannot collide.
int OrderFile(const SupervisorOrder& order) {
  const Descriptor memory(memfd_create("opguard-order", MFD_CLOEXEC));
  if (memory.get() < 0) return -1;
  const std::string text = EncodeOrder(order);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(memory.get(), text.data() + done, text.size() - done);
    if (n <= 0) return -1;
    done += static_cast<std::size_t>(n);
  }
  return fcntl(memory.get(), F_DUPFD_CLOEXEC, 10);
}

int SpawnSupervisor(int socket, int order, bool foreground, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (!foreground) {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, socket, kSupervisorSocket);
  posix_spawn_file_actions_adddup2(&actions, order, kSupervisorOrder);
  posix_spawn_file_actions_addclosefrom_np(&actions, kSupervisorOrder + 1);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  char* argv[] = {const_cast<char*>(kSupervisorName), nullptr};
  const int error = posix_spawn(pid, "/proc/self/exe", &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

tl::unexpected<Error> NotStarted(const SupervisorReport& report, const ProcessSpec& spec) {
  const char* reason = std::strerror(report.value);
  const ErrorCode code = report.value == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  switch (report.detail) {
    case SupervisorReport::kExec:
      return Fail(code, fmt::format("cannot run {}: {}", spec.argv[0], reason),
                  "give a program that is on PATH, or its absolute path");
    case SupervisorReport::kWorkdir:
      return Fail(code, fmt::format("cannot enter the folder {}: {}", spec.workdir, reason),
                  "give an existing folder as workdir");
    case SupervisorReport::kLog:
      return Fail(
          code,
          fmt::format("cannot write {} or {}: {}", spec.stdout_path, spec.stderr_path, reason),
          "make the pair's folder writable");
    case SupervisorReport::kLock:
      return Fail(ErrorCode::kIncomplete,
                  fmt::format("{} is held: processes of an earlier run are still ending: {}",
                              spec.lock_path, reason),
                  "try again in a few seconds");
    default:
      return Fail(ErrorCode::kIo, fmt::format("cannot start a process: {}", reason));
  }
}

}  // namespace

Result<std::unique_ptr<Process>> Process::Start(const ProcessSpec& spec) {
  if (spec.argv.empty() || spec.argv[0].empty()) {
    return Fail(ErrorCode::kInvalidArgument, "the command is empty", "give a command");
  }
  std::unique_ptr<Process> process(new Process);
  process->kill_after_ = spec.kill_after;
  {
    // Our copy of the supervisor's end closes here, so that its death ends the connection.
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      return SystemError("cannot make a socket pair");
    }
    process->socket_ = ends[0];
    const Descriptor low(ends[1]), theirs(fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
    const SupervisorOrder wanted = OrderOf(spec);
    const Descriptor order(OrderFile(wanted));
    if (theirs.get() < 0 || order.get() < 0) return SystemError("cannot hand over a command");
    errno = SpawnSupervisor(theirs.get(), order.get(), wanted.foreground, &process->supervisor_);
    if (errno != 0) return SystemError("cannot start a process");
  }
  SupervisorReport report;
  if (!process->Receive(report, std::chrono::seconds(30))) {
    return Fail(ErrorCode::kInternal, "the supervisor of a command ended before it started it");
  }
  if (report.kind != SupervisorReport::kStarted) {
    process->gone_ = true;
    return NotStarted(report, spec);
  }
  process->pid_ = report.value;
  return process;
}

Process::~Process() {
  if (supervisor_ > 0 && !gone_) {
    Terminate();
    // The supervisor needs kill_after and a moment; SIGKILL of it ends at least the command.
    if (!Wait(kill_after_ + std::chrono::seconds(3))) kill(supervisor_, SIGKILL);
  }
  if (socket_ >= 0) close(socket_);
  ReapSupervisor();
}

std::optional<Ending> Process::Wait(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (!gone_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    SupervisorReport report;
    if (!Receive(report, std::max(left, std::chrono::milliseconds(0)))) {
      if (!gone_) return std::nullopt;
      break;
    }
    if (report.kind == SupervisorReport::kEnded) {
      ending_.emplace();
      if (WIFEXITED(report.value)) ending_->exit_code = WEXITSTATUS(report.value);
      if (WIFSIGNALED(report.value)) ending_->signal = WTERMSIG(report.value);
    } else if (report.kind == SupervisorReport::kGone) {
      gone_ = true;
      if (ending_) ending_->leftovers = report.value;
    }
  }
  // Without a report the supervisor was killed, and the command with it.
  if (!ending_) ending_ = Ending{std::nullopt, SIGKILL, 0};
  return ending_;
}

void Process::Terminate() {
  const char order = 'T';
  (void)!send(socket_, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// False at the timeout and, with gone_ set, when the supervisor is no more.
bool Process::Receive(SupervisorReport& report, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd ready{socket_, POLLIN, 0};
    const int n = poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    if (recv(socket_, &report, sizeof report, 0) == sizeof report) return true;
    gone_ = true;
    return false;
  }
}

void Process::ReapSupervisor() {
  if (supervisor_ <= 0) return;
  while (waitpid(supervisor_, nullptr, 0) < 0 && errno == EINTR) {
  }
  supervisor_ = 0;
}

Result<Output> RunToEnd(const std::vector<std::string>& argv,
                        const std::vector<std::string>& environment, const std::string& workdir,
                        std::chrono::milliseconds timeout) {
  OPGUARD_ASSIGN(const TemporaryFolder folder, TemporaryFolder::Make());
  ProcessSpec spec;
  spec.argv = argv;
  spec.environment = environment;
  spec.workdir = workdir;
  spec.stdout_path = folder.path() + "/stdout";
  spec.stderr_path = folder.path() + "/stderr";
  spec.limits = {32 << 20, 32 << 20};  // `git ls-files` of a large repository, whole
  spec.leftover_grace = std::chrono::milliseconds(100);
  OPGUARD_ASSIGN(const std::unique_ptr<Process> process, Process::Start(spec));
  Output output;
  std::optional<Ending> ending = process->Wait(timeout);
  if (!ending) {
    output.timed_out = true;
    process->Terminate();
    ending = process->Wait(spec.kill_after + std::chrono::seconds(3));
  }
  output.ending = ending.value_or(Ending{std::nullopt, SIGKILL, 0});
  output.out = ReadText(spec.stdout_path);
  output.err = ReadText(spec.stderr_path);
  return output;
}

}  // namespace opguard::runner
