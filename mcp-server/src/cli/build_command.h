// `opguard-mcp build-capture --python PY`: the capture library for that interpreter's torch.
#pragma once

#include <string>

namespace opguard::cli {

// Builds or finds the library and prints its path to standard output. The exit status.
int BuildCaptureCommand(const std::string& python);

}  // namespace opguard::cli
