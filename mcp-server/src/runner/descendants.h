// The processes below one process, from /proc.
#pragma once

#include <sys/types.h>

#include <vector>

namespace opguard::runner {

// Process ids of all living descendants of `root`, zombies left out, in no order.
std::vector<pid_t> Descendants(pid_t root);

}  // namespace opguard::runner
