// Compiles and caches the capture library for one interpreter's torch.
#pragma once

#include <functional>
#include <map>
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

// Asks the interpreter; kMissingTool if it cannot be run, kNotFound if it has no torch or cannot
// import it, kUnsupportedVersion for torch < 2.9 and for ROCm builds, kTimeout after two minutes.
[[nodiscard]] Result<TorchInfo> ProbeTorch(const std::string& python);
// The same with a side's variables (complete) and folder, on which the torch that is found may
// depend. Remembered by this process until torch's files change.
[[nodiscard]] Result<TorchInfo> ProbeTorch(const std::string& python,
                                           const std::map<std::string, std::string>& environment,
                                           const std::string& workdir);

struct CaptureLibrary {
  TorchInfo torch;
  std::string path;    // libopguard_capture.so
  std::string cache;   // the folder that holds <key>/libopguard_capture.so
  bool built = false;  // false: it was in the cache
};

// Finds the library in the cache or builds it (cmake + ninja/make + c++), reporting progress
// lines. Safe to call from several processes. Errors: those of ProbeTorch; kMissingTool naming
// the packages to install; kNotFound without the capture sources; kIo for an unwritable cache;
// kInternal with the compiler's first error.
[[nodiscard]] Result<CaptureLibrary> BuildCapture(
    const std::string& python, const std::function<void(const std::string&)>& progress);

// The same for a torch that was probed. `cancelled` (may be null) is asked several times a second;
// kCancelled then.
[[nodiscard]] Result<CaptureLibrary> BuildCapture(
    const TorchInfo& torch, const std::function<void(const std::string&)>& progress,
    const std::function<bool()>& cancelled);

// All that BuildCapture would lack: empty if the library is in the cache or can be built.
[[nodiscard]] Result<void> CheckCanBuild(const TorchInfo& torch);

// $OPGUARD_CACHE, or $XDG_CACHE_HOME/opguard, or ~/.cache/opguard.
std::string CacheDirectory();

}  // namespace opguard::runner
