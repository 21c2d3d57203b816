// The value of OPGUARD_CAPTURE (ARCHITECTURE.md), parsed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "opguard/store/result.h"

namespace opguard::capture {

struct Config {
  std::string directory;  // of the trace files
  bool trusted = false;   // mode=trusted
  bool inner = false;     // level=inner
  bool stacks = true, statistics = true;
  bool stop_after_steps = false;
  std::int64_t from_step = 1;
  std::int64_t steps = 0;  // 0: all
};

// Unknown keys are left to the other readers of the variable. Error: kInvalidArgument.
[[nodiscard]] Result<Config> ParseConfig(std::string_view text);

}  // namespace opguard::capture
