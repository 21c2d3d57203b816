// Where the sources of the capture library and its Python shim are on this machine.
#pragma once

#include <string>

#include "opguard/store/result.h"

namespace opguard::runner {

// The root with CMakeLists.txt and capture/: $OPGUARD_SOURCE_ROOT, the tree this program was built
// from, or <prefix>/share/opguard/src of an installed one. kNotFound names where it looked.
[[nodiscard]] Result<std::string> CaptureSourceRoot();

// The folder that goes on PYTHONPATH: capture/python of the root.
[[nodiscard]] Result<std::string> ShimFolder();

// 16 hexadecimal digits over the names and contents of all that the library is built from.
std::string HashSources(const std::string& root);

}  // namespace opguard::runner
