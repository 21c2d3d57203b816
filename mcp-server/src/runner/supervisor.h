// The process between the server and a command: ends every descendant of the command with it.
//
// A supervisor is the server's own executable started anew under the name kSupervisorName; a
// constructor in supervisor.cc takes over before main(). It is a child subreaper, so whatever the
// command starts, in whatever session, becomes its child in the end and can be found and ended.
// It survives the server's SIGKILL for as long as it takes to end the command.
//
// What remains: a SIGKILL of the supervisor itself ends the command (PR_SET_PDEATHSIG) but not
// what the command started; processes that another daemon starts for the command (docker, a job
// scheduler, systemd-run) are nobody's descendants here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/bounded_log.h"

namespace opguard::runner {

// Only ever taken from here, so that whoever starts a supervisor has linked the constructor.
extern const char* const kSupervisorName;
// Descriptors of a supervisor: a SOCK_SEQPACKET socket to the server and the order as a file.
inline constexpr int kSupervisorSocket = 3, kSupervisorOrder = 4;

// What the server wants run.
struct SupervisorOrder {
  std::vector<std::string> argv, environment;  // NAME=value
  std::string workdir, stdout_path, stderr_path;
  std::string lock_path;  // flocked for the supervisor's life; empty: none
  LogLimits limits;
  std::uint64_t leftover_grace_ms = 0;  // for descendants, once the command itself ended
  std::uint64_t kill_after_ms = 2000;   // from SIGTERM to SIGKILL
  bool foreground = false;              // inherits the terminal; no own session, no logs
};
std::string EncodeOrder(const SupervisorOrder& order);
bool DecodeOrder(const std::string& text, SupervisorOrder& order);

// Messages from the supervisor to the server. From the server: any byte, or the end of the
// connection, means "end the command".
struct SupervisorReport {
  enum Kind : std::int32_t {
    kStarted = 1,     // value: process id of the command
    kNotStarted = 2,  // value: errno; detail: NotStarted
    kEnded = 3,       // value: wait status of the command
    kGone = 4,        // no descendant is left; value: how many had to be ended
  };
  enum NotStarted : std::int32_t { kExec = 0, kWorkdir = 1, kLog = 2, kLock = 3, kFork = 4 };
  std::int32_t kind = 0, value = 0, detail = 0;
};

}  // namespace opguard::runner
