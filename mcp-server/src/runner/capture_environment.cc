#include "runner/capture_environment.h"

#include <fmt/format.h>

#include "runner/pair_record.h"

namespace opguard::runner {

std::string CaptureConfiguration(const PairSpec& options, const std::string& directory,
                                 const std::string& cache) {
  std::string text =
      fmt::format("dir={};cache={};mode={};level={};from_step={};steps={};determinism={}",
                  PercentEncode(directory, ";"), PercentEncode(cache, ";"),
                  PercentEncode(options.mode, ";"), PercentEncode(options.level, ";"),
                  options.from_step, options.steps, PercentEncode(options.determinism, ";"));
  if (options.stop_after_steps) text += ";stop_after_steps=1";
  return text;
}

Environment CaptureEnvironment(const PairSpec& options, const SideSpec& side,
                               const std::string& directory, const std::string& cache,
                               const std::string& shim) {
  Environment environment = EnvironmentWith(side.env);
  const std::string theirs = ValueOf(environment, "PYTHONPATH");
  // An empty entry would mean the working directory.
  environment["PYTHONPATH"] = theirs.empty() ? shim : shim + ":" + theirs;
  environment["OPGUARD_CAPTURE"] = CaptureConfiguration(options, directory, cache);
  if (options.determinism == "on") {
    // Python and cuBLAS read these once, before the shim could set them.
    if (!side.env.count("PYTHONHASHSEED")) environment["PYTHONHASHSEED"] = "0";
    if (!side.env.count("CUBLAS_WORKSPACE_CONFIG")) {
      environment["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8";
    }
  }
  return environment;
}

}  // namespace opguard::runner
