#include "runner/build_capture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "runner/build_tools.h"
#include "runner/capture_sources.h"
#include "runner/environment.h"
#include "runner/files.h"
#include "runner/process.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;
using Progress = std::function<void(const std::string&)>;
using Cancelled = std::function<bool()>;

constexpr char kLibrary[] = "libopguard_capture.so";
constexpr auto kTick = std::chrono::milliseconds(200);
constexpr auto kLongest = std::chrono::minutes(30);

tl::unexpected<Error> CancelledError() {
  return Fail(ErrorCode::kCancelled, "building the capture library was cancelled");
}

// Held by the one process that builds a key.
class BuildLock {
 public:
  static Result<BuildLock> Take(const std::string& path, const Progress& progress,
                                const Cancelled& cancelled) {
    BuildLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (lock.fd_ < 0) {
      return Fail(ErrorCode::kIo, fmt::format("cannot write {}: {}", path, std::strerror(errno)),
                  "make the cache writable, or set OPGUARD_CACHE to a writable folder");
    }
    bool waits = false;
    while (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (!waits) progress("waiting for another process that builds the capture library");
      waits = true;
      if (cancelled && cancelled()) return CancelledError();
      std::this_thread::sleep_for(kTick);
    }
    return lock;
  }
  ~BuildLock() {
    if (fd_ >= 0) close(fd_);
  }
  BuildLock(BuildLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

 private:
  explicit BuildLock(int fd) : fd_(fd) {}
  int fd_;
};

// Runs one step of the build, reporting the last line of its output as it changes.
class Step {
 public:
  Step(const TemporaryFolder& folder, const Progress& progress, const Cancelled& cancelled)
      : folder_(folder), progress_(progress), cancelled_(cancelled) {}

  Result<void> Run(const std::string& name, const std::vector<std::string>& argv) {
    ProcessSpec spec;
    spec.argv = argv;
    spec.environment = AsList(BuildEnvironment());
    spec.workdir = folder_.path();
    spec.stdout_path = folder_.path() + "/" + name + ".out";
    spec.stderr_path = folder_.path() + "/" + name + ".err";
    OPGUARD_ASSIGN(const std::unique_ptr<Process> process, Process::Start(spec));
    const auto start = std::chrono::steady_clock::now();
    std::string last;
    for (;;) {
      const auto ending = process->Wait(kTick);
      if (ending && ending->exit_code == 0) return {};
      if (ending) return Failure(name, spec);
      if (cancelled_ && cancelled_()) return CancelledError();
      if (std::chrono::steady_clock::now() - start > kLongest) {
        return Fail(ErrorCode::kTimeout, "building the capture library took over 30 minutes");
      }
      const auto lines = TailLines(spec.stdout_path, 1);
      if (!lines.empty() && lines[0] != last) progress_(name + ": " + (last = lines[0]));
    }
  }

 private:
  static Environment BuildEnvironment() {
    Environment environment = EnvironmentWith({});
    environment.erase("OPGUARD_CAPTURE");
    environment.erase("PYTHONPATH");
    return environment;
  }
  // Compilers write errors to stderr, ninja passes them on to stdout.
  static Result<void> Failure(const std::string& name, const ProcessSpec& spec) {
    const auto out = SplitLines(ReadText(spec.stdout_path)), err = TailLines(spec.stderr_path, 20);
    std::string first;
    for (const auto* lines : {&out, &err}) {
      for (const std::string& line : *lines) {
        const bool names_error = line.find("rror:") != std::string::npos ||
                                 line.find("CMake Error") != std::string::npos;
        if (first.empty() && names_error) first = line;
      }
    }
    if (first.empty() && !err.empty()) first = err.back();
    std::string rest;
    for (const std::string& line : err) {
      if (line != first) rest += "\n" + line;
    }
    return Fail(ErrorCode::kInternal,
                fmt::format("building the capture library failed ({}): {}{}", name, first, rest),
                name == "configuring"
                    ? "check that OPGUARD_SOURCE_ROOT, if set, is a complete source tree"
                    : "check that the compiler supports C++20 and that torch's folder is intact");
  }

  const TemporaryFolder& folder_;
  const Progress& progress_;
  const Cancelled& cancelled_;
};

std::string FindBuilt(const std::string& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().filename() == kLibrary) return at->path().string();
  }
  return {};
}

// Readers see the old or the new library, never a part; the stamp comes last.
Result<void> Install(const std::string& built, const std::string& target, const std::string& hash) {
  const std::string fresh = fmt::format("{}.{}", target, getpid());
  std::error_code error;
  fs::copy_file(built, fresh, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(fresh, target, error);
  if (error) {
    fs::remove(fresh, error);
    return Fail(ErrorCode::kIo, fmt::format("cannot write {}", target),
                "free some disk space, or set OPGUARD_CACHE to a writable folder");
  }
  return WriteText(target + ".sources", hash + "\n");
}

Result<void> Build(const TorchInfo& torch, const std::string& root, const std::string& target,
                   const std::string& hash, const Progress& progress, const Cancelled& cancelled) {
  OPGUARD_ASSIGN(const BuildTools tools, FindBuildTools());
  OPGUARD_ASSIGN(const TemporaryFolder folder, TemporaryFolder::Make());
  const std::string build = folder.path() + "/build";
  std::vector<std::string> configure{
      tools.cmake,
      "-S",
      root,
      "-B",
      build,
      "-DOPGUARD_BUILD_CAPTURE=ON",
      "-DOPGUARD_BUILD_SERVER=OFF",
      "-DOPGUARD_BUILD_TESTS=OFF",
      "-DCMAKE_BUILD_TYPE=Release",
      "-DOPGUARD_TORCH_ROOT=" + torch.root,
      torch.cxx11_abi ? "-DOPGUARD_TORCH_CXX11_ABI=1" : "-DOPGUARD_TORCH_CXX11_ABI=0"};
  if (!tools.ninja.empty()) configure.insert(configure.end(), {"-G", "Ninja"});
  Step step(folder, progress, cancelled);
  progress(fmt::format("building the capture library for torch {}", torch.version));
  OPGUARD_TRY(step.Run("configuring", configure));
  OPGUARD_TRY(step.Run(
      "compiling", {tools.cmake, "--build", build, "--target", "opguard_capture", "--parallel"}));
  const std::string built = FindBuilt(build);
  if (built.empty()) return Fail(ErrorCode::kInternal, "the build gave no capture library");
  return Install(built, target, hash);
}

bool IsCached(const std::string& target, const std::string& hash) {
  std::error_code error;
  if (!fs::is_regular_file(target, error)) return false;
  // Without sources nothing newer can be built.
  return hash.empty() || Trimmed(ReadText(target + ".sources")) == hash;
}

std::string TargetOf(const TorchInfo& torch) {
  return fmt::format("{}/{}/{}", CacheDirectory(), torch.key, kLibrary);
}

std::string CurrentHash() {
  const auto root = CaptureSourceRoot();
  return root ? HashSources(*root) : std::string{};
}

}  // namespace

std::string CacheDirectory() {
  const Environment environment = EnvironmentWith({});
  if (const std::string own = ValueOf(environment, "OPGUARD_CACHE"); !own.empty()) {
    std::error_code error;
    return fs::absolute(own, error).string();
  }
  const std::string shared = ValueOf(environment, "XDG_CACHE_HOME");
  if (!shared.empty() && shared[0] == '/') return shared + "/opguard";
  return ValueOf(environment, "HOME", "/tmp") + "/.cache/opguard";
}

Result<CaptureLibrary> BuildCapture(const std::string& python, const Progress& progress) {
  OPGUARD_ASSIGN(const TorchInfo torch, ProbeTorch(python));
  return BuildCapture(torch, progress, nullptr);
}

Result<CaptureLibrary> BuildCapture(const TorchInfo& torch, const Progress& report,
                                    const Cancelled& cancelled) {
  const Progress progress = report ? report : [](const std::string&) {};
  CaptureLibrary library{torch, TargetOf(torch), CacheDirectory(), false};
  const std::string hash = CurrentHash();
  if (IsCached(library.path, hash)) return library;
  OPGUARD_ASSIGN(const std::string root, CaptureSourceRoot());
  const std::string folder = fs::path(library.path).parent_path().string();
  std::error_code error;
  fs::create_directories(folder, error);
  OPGUARD_ASSIGN(const BuildLock lock, BuildLock::Take(folder + "/lock", progress, cancelled));
  if (IsCached(library.path, hash)) return library;
  OPGUARD_TRY(Build(torch, root, library.path, hash, progress, cancelled));
  library.built = true;
  return library;
}

Result<void> CheckCanBuild(const TorchInfo& torch) {
  if (IsCached(TargetOf(torch), CurrentHash())) return {};
  OPGUARD_TRY(CaptureSourceRoot());
  if (!IsWritableFolder(CacheDirectory())) {
    return Fail(ErrorCode::kIo, fmt::format("the cache {} is not writable", CacheDirectory()),
                "set OPGUARD_CACHE to a writable folder");
  }
  OPGUARD_TRY(FindBuildTools());
  return {};
}

}  // namespace opguard::runner
