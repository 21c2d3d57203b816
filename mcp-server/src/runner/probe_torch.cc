#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <mutex>
#include <utility>

#include "runner/build_capture.h"
#include "runner/environment.h"
#include "runner/files.h"
#include "runner/process.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;

constexpr int kNoTorch = 40, kBroken = 41, kTooOld = 42, kNotTorch = 43;

// Prints one fact a line behind a mark: a sitecustomize or torch itself may print as well.
constexpr char kProbe[] = R"(
import os, sys
def say(key, value):
    print("opguard-probe\t%s\t%s" % (key, value))
def fail(status, error):
    say("error", "%s: %s" % (type(error).__name__, " ".join(str(error).split())))
    sys.stdout.flush()
    os._exit(status)
say("python", sys.executable)
try:
    import torch
except ModuleNotFoundError as error:
    fail(40 if error.name == "torch" else 41, error)
except BaseException as error:
    fail(41, error)
version = getattr(torch, "__version__", None)
if version is None:
    fail(43, ImportError("the module torch at %s is not PyTorch" % getattr(torch, "__file__", "?")))
say("version", version)
say("root", os.path.dirname(os.path.abspath(torch.__file__)))
try:
    numbers = tuple(int(part) for part in str(version).split(".")[:2])
    if numbers < (2, 9):
        fail(42, ImportError("torch %s" % version))
    say("abi", int(torch.compiled_with_cxx11_abi()))
    say("cuda", torch.version.cuda or "")
    say("hip", getattr(torch.version, "hip", None) or "")
except Exception as error:
    fail(43, error)
sys.stdout.flush()
os._exit(0)
)";

Environment Facts(const std::string& output) {
  Environment facts;
  constexpr std::string_view kMark = "opguard-probe\t";
  for (const std::string& line : SplitLines(output)) {
    if (line.rfind(kMark, 0) != 0) continue;
    const std::size_t tab = line.find('\t', kMark.size());
    if (tab == std::string::npos) continue;
    facts[line.substr(kMark.size(), tab - kMark.size())] = line.substr(tab + 1);
  }
  return facts;
}

tl::unexpected<Error> ProbeError(const std::string& python, const Output& output,
                                 const Environment& facts) {
  const std::string error = ValueOf(facts, "error");
  if (output.timed_out) {
    return Fail(ErrorCode::kTimeout,
                fmt::format("{} took over two minutes to import torch", python),
                "check that this interpreter can import torch");
  }
  switch (output.ending.exit_code.value_or(-1)) {
    case kNoTorch:
      return Fail(
          ErrorCode::kNotFound, fmt::format("{} has no torch", python),
          fmt::format("{} -m pip install torch, or use the interpreter that has it", python));
    case kBroken:
      return Fail(ErrorCode::kNotFound, fmt::format("{} cannot import torch: {}", python, error),
                  fmt::format("make `{} -c 'import torch'` work", python));
    case kTooOld:
      return Fail(ErrorCode::kUnsupportedVersion,
                  fmt::format("{} has torch {}; OpGuard needs 2.9 or newer", python,
                              ValueOf(facts, "version")),
                  fmt::format("{} -m pip install 'torch>=2.9'", python));
    case kNotTorch:
      return Fail(ErrorCode::kUnsupportedVersion, fmt::format("{}: {}", python, error),
                  "remove the module named torch that hides PyTorch");
    default: {
      const auto lines = SplitLines(output.err);
      return Fail(ErrorCode::kMissingTool,
                  fmt::format("{} does not work as a Python interpreter: {}", python,
                              lines.empty() ? "no output" : lines.back()),
                  "name a working Python 3 interpreter in the command");
    }
  }
}

std::string Key(const TorchInfo& info) {
  std::string cuda = "cpu";
  if (!info.cuda.empty()) {
    cuda = "cu";
    for (const char c : info.cuda) {
      if (c != '.') cuda += c;
    }
  }
  return fmt::format("torch-{}-abi{}-{}-opguard-{}", info.version, info.cxx11_abi ? 1 : 0, cuda,
                     OPGUARD_VERSION);
}

Result<TorchInfo> Ask(const std::string& python, Environment environment,
                      const std::string& workdir) {
  for (auto at = environment.begin(); at != environment.end();) {
    at = at->first.rfind("OPGUARD_", 0) == 0 ? environment.erase(at) : std::next(at);
  }
  auto output =
      RunToEnd({python, "-c", kProbe}, AsList(environment), workdir, std::chrono::minutes(2));
  if (!output) {
    output.error().code = ErrorCode::kMissingTool;
    output.error().fix = "name a working Python 3 interpreter in the command";
    return tl::unexpected<Error>(output.error());
  }
  const Environment facts = Facts(output->out);
  if (!output->ok() || !facts.count("abi")) return ProbeError(python, *output, facts);
  if (const std::string hip = ValueOf(facts, "hip"); !hip.empty()) {
    return Fail(ErrorCode::kUnsupportedVersion,
                fmt::format("{} has torch for ROCm {}, which is not supported", python, hip),
                "use a CPU or CUDA build of torch");
  }
  TorchInfo info;
  info.python = ValueOf(facts, "python", python);
  info.version = ValueOf(facts, "version");
  info.cxx11_abi = ValueOf(facts, "abi") == "1";
  info.cuda = ValueOf(facts, "cuda");
  info.root = ValueOf(facts, "root");
  info.key = Key(info);
  return info;
}

// When torch's version file was written: a new torch is asked again.
std::int64_t VersionTime(const std::string& root) {
  std::error_code error;
  const auto time = fs::last_write_time(root + "/version.py", error);
  return error ? 0 : time.time_since_epoch().count();
}

}  // namespace

Result<TorchInfo> ProbeTorch(const std::string& python) {
  std::error_code error;
  return ProbeTorch(python, EnvironmentWith({}), fs::current_path(error).string());
}

Result<TorchInfo> ProbeTorch(const std::string& python, const Environment& environment,
                             const std::string& workdir) {
  static std::mutex mutex;
  static std::map<std::string, std::pair<TorchInfo, std::int64_t>> known;
  const std::string path = FindProgram(python, environment, workdir);
  if (path.empty()) {
    return Fail(ErrorCode::kMissingTool, fmt::format("there is no interpreter {}", python),
                "name an existing Python 3 interpreter");
  }
  std::string question = path + '\n' + workdir;
  for (const char* name : {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PATH", "PYENV_VERSION"}) {
    question += '\n' + ValueOf(environment, name);
  }
  {
    const std::lock_guard lock(mutex);
    const auto found = known.find(question);
    if (found != known.end() && found->second.second == VersionTime(found->second.first.root)) {
      return found->second.first;
    }
  }
  OPGUARD_ASSIGN(const TorchInfo info, Ask(path, environment, workdir));
  const std::lock_guard lock(mutex);
  known[question] = {info, VersionTime(info.root)};
  return info;
}

}  // namespace opguard::runner
