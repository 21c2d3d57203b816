// Compiles and caches the capture library for one interpreter's torch.
#pragma once

#include <functional>
#include <string>

#include "opguard/store/result.h"

namespace opguard::runner {

struct TorchInfo {
  std::string python;   // absolute interpreter
  std::string version;  // "2.13.0+cpu"
  bool cxx11_abi = true;
  std::string cuda;  // "" for a CPU build
  std::string root;  // torch's package folder
  std::string key;   // cache key: torch-<version>-abi<0|1>-<cpu|cuXYZ>-opguard-<version>
};

// Asks the interpreter; kMissingTool if it cannot be run, kNotFound if it has no torch,
// kUnsupportedVersion for torch < 2.9.
[[nodiscard]] Result<TorchInfo> ProbeTorch(const std::string& python);

struct CaptureLibrary {
  TorchInfo torch;
  std::string path;    // libopguard_capture.so
  std::string cache;   // the folder that holds <key>/libopguard_capture.so
  bool built = false;  // false: it was in the cache
};

// Finds the library in the cache or builds it (cmake + ninja/make + c++), reporting progress
// lines. Safe to call from several processes. Errors: kMissingTool naming the package to install.
[[nodiscard]] Result<CaptureLibrary> BuildCapture(
    const std::string& python, const std::function<void(const std::string&)>& progress);

// $OPGUARD_CACHE, or $XDG_CACHE_HOME/opguard, or ~/.cache/opguard.
std::string CacheDirectory();

}  // namespace opguard::runner
