// What compiling the capture library needs on this machine.
#pragma once

#include <string>

#include "opguard/store/result.h"

namespace opguard::runner {

struct BuildTools {
  std::string cmake, ninja;  // absolute; ninja "" if there is only make
};

// kMissingTool naming all that is absent (compiler, cmake, headers) with one command to install it.
[[nodiscard]] Result<BuildTools> FindBuildTools();

}  // namespace opguard::runner
