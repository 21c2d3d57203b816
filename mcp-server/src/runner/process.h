// One command as a child of the server: started, waited for and ended with all that it starts.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "opguard/store/result.h"
#include "runner/supervisor.h"

namespace opguard::runner {

struct ProcessSpec {
  std::vector<std::string> argv;         // argv[0] is looked up on PATH of `environment`
  std::vector<std::string> environment;  // NAME=value, complete
  std::string workdir;                   // absolute
  // Where output goes, bounded; both empty: a foreground command on the server's own terminal.
  std::string stdout_path, stderr_path;
  std::string lock_path;  // flocked until the last descendant is gone; empty: none
  LogLimits limits;
  std::chrono::milliseconds leftover_grace{2000};  // for what the command left behind
  std::chrono::milliseconds kill_after{2000};      // from SIGTERM to SIGKILL
};

struct Ending {
  std::optional<int> exit_code;  // absent if a signal ended the command
  int signal = 0;                // that ended it, 0 none
  int leftovers = 0;             // processes that outlived it and were ended
};

// Stdin is /dev/null except in the foreground. Ends, with every descendant, when the object is
// destroyed and when the server's process ends in whatever way (supervisor.h says how). Wait() is
// for one thread; Terminate() may be called from any.
class Process {
 public:
  // kNotFound: no such program, workdir or log folder; kIo: not executable, out of processes.
  [[nodiscard]] static Result<std::unique_ptr<Process>> Start(const ProcessSpec& spec);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  // How it ended, once no descendant is left; nothing if that takes longer than `timeout`.
  std::optional<Ending> Wait(std::chrono::milliseconds timeout);
  // SIGTERM to all descendants, SIGKILL to what is left after kill_after. Returns at once.
  void Terminate();

 private:
  Process() = default;
  bool Receive(SupervisorReport& report, std::chrono::milliseconds timeout);
  void ReapSupervisor();

  int socket_ = -1;
  pid_t supervisor_ = 0, pid_ = 0;
  std::chrono::milliseconds kill_after_{0};
  std::optional<Ending> ending_;
  bool gone_ = false;
};

// A finished short command with its output.
struct Output {
  Ending ending;
  bool timed_out = false;
  std::string out, err;  // whole up to 64 MiB, then bounded_log.h
  bool ok() const { return !timed_out && ending.exit_code == 0; }
};
// Runs to the end, or ends it at `timeout`. Errors as Process::Start.
[[nodiscard]] Result<Output> RunToEnd(const std::vector<std::string>& argv,
                                      const std::vector<std::string>& environment,
                                      const std::string& workdir,
                                      std::chrono::milliseconds timeout);

}  // namespace opguard::runner
