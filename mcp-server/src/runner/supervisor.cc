#include "runner/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "runner/descendants.h"

namespace opguard::runner {

const char* const kSupervisorName = "opguard-supervise";

namespace {

using Clock = std::chrono::steady_clock;

std::string ReadOrder() {
  std::string text;
  char buffer[65536];
  lseek(kSupervisorOrder, 0, SEEK_SET);
  for (ssize_t n; (n = read(kSupervisorOrder, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(kSupervisorOrder);
  return text;
}

void Send(SupervisorReport::Kind kind, int value, int detail = 0) {
  const SupervisorReport report{kind, value, detail};
  (void)!send(kSupervisorSocket, &report, sizeof report, MSG_NOSIGNAL);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// One of the command's two output pipes.
struct Output {
  int fd = -1;
  BoundedLog log;

  // Takes what is there; closes at the end of the stream.
  void Drain() {
    char buffer[65536];
    while (fd >= 0) {
      const ssize_t n = read(fd, buffer, sizeof buffer);
      if (n > 0) {
        log.Append({buffer, static_cast<std::size_t>(n)});
        if (n < static_cast<ssize_t>(sizeof buffer)) return;
      } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
      } else {
        close(fd);
        fd = -1;
      }
    }
  }
};

class Supervisor {
 public:
  explicit Supervisor(SupervisorOrder order) : order_(std::move(order)) {}
  int Run();

 private:
  bool Prepare();
  bool StartCommand();
  [[noreturn]] void ExecCommand(const int (&write_ends)[2], int error_pipe);
  void Watch();
  void Reap();
  void Terminate();
  void KillRest();
  int PollTimeout() const;
  void OnDeadline();

  SupervisorOrder order_;
  std::array<Output, 2> outputs_;
  int signals_ = -1;
  pid_t command_ = 0;
  bool ended_ = false, nothing_left_ = false, connected_ = true;
  bool terminating_ = false;
  std::optional<Clock::time_point> deadline_;
  int leftovers_ = 0;
};

bool Supervisor::Prepare() {
  if (!order_.foreground) setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, kSupervisorName);
  // The terminal's signals are for the command; the server decides what becomes of us.
  for (const int ignored : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE, SIGTSTP}) {
    signal(ignored, SIG_IGN);
  }
  fcntl(kSupervisorSocket, F_SETFD, FD_CLOEXEC);
  if (!order_.lock_path.empty()) {
    const int lock = open(order_.lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0) {
      Send(SupervisorReport::kNotStarted, errno, SupervisorReport::kLock);
      return false;
    }
  }
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  signals_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  return true;
}

bool Supervisor::StartCommand() {
  int write_ends[2] = {-1, -1};
  for (int i = 0; i < 2 && !order_.foreground; ++i) {
    int ends[2];
    const std::string& path = i == 0 ? order_.stdout_path : order_.stderr_path;
    if (!outputs_[i].log.Open(path, order_.limits) || pipe2(ends, O_CLOEXEC) != 0) {
      Send(SupervisorReport::kNotStarted, errno, SupervisorReport::kLog);
      return false;
    }
    outputs_[i].fd = ends[0];
    write_ends[i] = ends[1];
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0 || (command_ = fork()) < 0) {
    Send(SupervisorReport::kNotStarted, errno, SupervisorReport::kFork);
    return false;
  }
  if (command_ == 0) ExecCommand(write_ends, error_pipe[1]);
  close(error_pipe[1]);
  for (const int fd : write_ends) {
    if (fd >= 0) close(fd);
  }
  int failure[2];  // errno, what failed
  if (read(error_pipe[0], failure, sizeof failure) == sizeof failure) {
    Send(SupervisorReport::kNotStarted, failure[0], failure[1]);
    return false;
  }
  close(error_pipe[0]);
  Send(SupervisorReport::kStarted, command_);
  return true;
}

void Supervisor::ExecCommand(const int (&write_ends)[2], int error_pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (!order_.foreground) {
    setsid();
    // Descriptor 0 is /dev/null already: the server starts us so.
    dup2(write_ends[0], STDOUT_FILENO);
    dup2(write_ends[1], STDERR_FILENO);
  }
  int failure[2] = {0, SupervisorReport::kWorkdir};
  if (chdir(order_.workdir.c_str()) == 0) {
    const auto argv = Pointers(order_.argv), environment = Pointers(order_.environment);
    environ = const_cast<char**>(environment.data());
    execvpe(argv[0], argv.data(), environment.data());
    failure[1] = SupervisorReport::kExec;
  }
  failure[0] = errno;
  (void)!write(error_pipe, failure, sizeof failure);
  _exit(127);
}

// Looks at all children; sets nothing_left_ when there is none, living or dead.
void Supervisor::Reap() {
  int status = 0;
  for (;;) {
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == ECHILD) nothing_left_ = true;
    if (pid <= 0) return;
    if (pid != command_) continue;
    ended_ = true;
    Send(SupervisorReport::kEnded, status);
    if (!terminating_)
      deadline_ = Clock::now() + std::chrono::milliseconds(order_.leftover_grace_ms);
  }
}

void Supervisor::Terminate() {
  if (terminating_) return;
  terminating_ = true;
  deadline_ = Clock::now() + std::chrono::milliseconds(order_.kill_after_ms);
  for (const pid_t pid : Descendants(getpid())) kill(pid, SIGTERM);
}

// SIGKILL to whatever is left, again for what was started meanwhile. Orphans become our children,
// so this ends with none.
void Supervisor::KillRest() {
  const pid_t self = getpid();
  while (!nothing_left_) {
    for (const pid_t pid : Descendants(self)) kill(pid, SIGKILL);
    pollfd wait{signals_, POLLIN, 0};
    poll(&wait, 1, 20);
    signalfd_siginfo info;
    while (read(signals_, &info, sizeof info) > 0) {
    }
    for (Output& output : outputs_) output.Drain();
    Reap();
  }
}

int Supervisor::PollTimeout() const {
  if (!deadline_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now());
  return left.count() < 0 ? 0 : static_cast<int>(left.count());
}

void Supervisor::OnDeadline() {
  if (!deadline_ || Clock::now() < *deadline_) return;
  if (terminating_) {
    KillRest();
    return;
  }
  leftovers_ = static_cast<int>(Descendants(getpid()).size());
  Terminate();
}

void Supervisor::Watch() {
  Reap();
  while (!nothing_left_) {
    std::array<pollfd, 4> watched{{{signals_, POLLIN, 0},
                                   {outputs_[0].fd, POLLIN, 0},
                                   {outputs_[1].fd, POLLIN, 0},
                                   {connected_ ? kSupervisorSocket : -1, POLLIN, 0}}};
    poll(watched.data(), watched.size(), PollTimeout());
    if (watched[3].revents != 0) {
      char order;
      if (recv(kSupervisorSocket, &order, 1, MSG_DONTWAIT) <= 0) connected_ = false;
      Terminate();
    }
    for (Output& output : outputs_) output.Drain();
    signalfd_siginfo info;
    while (read(signals_, &info, sizeof info) > 0) {
    }
    Reap();
    OnDeadline();
  }
}

int Supervisor::Run() {
  if (!Prepare() || !StartCommand()) return 1;
  Watch();
  for (Output& output : outputs_) {
    // Not a loop to the end of the stream: somebody who is no descendant may hold the other end.
    while (output.fd >= 0) {
      pollfd more{output.fd, POLLIN, 0};
      if (poll(&more, 1, 0) <= 0) break;
      output.Drain();
    }
    output.log.Close();
  }
  Send(SupervisorReport::kGone, leftovers_);
  return 0;
}

// glibc hands the arguments of main() to constructors. Nothing of the program has run yet: only
// what needs no static object of ours may be used from here.
__attribute__((constructor)) void TakeOver(int argc, char** argv, char**) {
  if (argc != 1 || std::strcmp(argv[0], kSupervisorName) != 0) return;
  SupervisorOrder order;
  if (!DecodeOrder(ReadOrder(), order)) _exit(2);
  Supervisor supervisor(std::move(order));
  const int status = supervisor.Run();
  _exit(status);
}

}  // namespace
}  // namespace opguard::runner
