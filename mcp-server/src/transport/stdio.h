// The stdio transport: one JSON message a line on standard input and output.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "protocol/server.h"

namespace opguard::mcp {

struct StdioOptions {
  std::size_t max_workers = 16;
  // After the end of input or a first SIGTERM or SIGINT, calls may end by themselves for this long
  // before they are cancelled. A second signal cancels at once. The official clients end a server
  // that is still there 2 s after its end of input, so a cancelled run must end before that.
  std::chrono::milliseconds drain{1000};
  // Then they have this long to end before they are left behind.
  std::chrono::milliseconds cancel{2000};
  std::function<void(const std::string& note)> log;  // null drops; any thread
};

struct StdioEnd {
  enum class Cause {
    kEndOfInput,
    kSignal,
    kOutputClosed,  // nobody reads the answers
    kFailed,        // could not start; `error`
  };
  Cause cause = Cause::kEndOfInput;
  int error = 0;  // errno
  // Calls that ignore their cancellation still run on threads of their own. The caller must end the
  // process without running destructors (std::_Exit) as these use what the service uses.
  bool is_abandoned = false;
};

// Serves one client until it is gone. Takes standard input and output for good
// (standard_streams.h). Call it once in a process, from the main thread.
StdioEnd RunStdio(std::shared_ptr<const Server> server, const StdioOptions& options);

}  // namespace opguard::mcp
