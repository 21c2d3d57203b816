// Takes standard input and output for the protocol, so that nothing else gets at them.
#pragma once

#include "transport/unique_fd.h"

namespace opguard::mcp {

struct StandardStreams {
  UniqueFd in, out;
};

// Moves descriptors 0 and 1 to new ones that child processes do not inherit. From then on, for the
// rest of the process, descriptor 0 is /dev/null and 1 is standard error: a stray print of any
// library or child cannot damage the protocol, and no child eats its input. Returns 0 or an errno.
int ClaimStandardStreams(StandardStreams& streams);

}  // namespace opguard::mcp
