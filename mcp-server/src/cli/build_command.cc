#include "cli/build_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "cli/exit_status.h"
#include "runner/build_capture.h"
#include "tools/answer.h"

namespace opguard::cli {

int BuildCaptureCommand(const std::string& python) {
  const auto library =
      runner::BuildCapture(python, [](const std::string& line) { spdlog::info("{}", line); });
  if (!library) {
    spdlog::error("{}", tools::ErrorText(library.error()));
    return kExitError;
  }
  spdlog::info("{} for torch {} of {}", library->built ? "built" : "found in the cache",
               library->torch.version, library->torch.python);
  fmt::print("{}\n", library->path);
  return 0;
}

}  // namespace opguard::cli
