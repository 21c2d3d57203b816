#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "runner/build_capture.h"
#include "runner/capture_sources.h"
#include "runner/environment.h"
#include "runner/files.h"
#include "runner/git.h"
#include "runner/interpreter.h"
#include "runner/run_pair.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLeastFreeBytes = 256ull << 20;

// Gathers problems; what both sides share is said once.
class Checker {
 public:
  explicit Checker(const PairSpec& spec) : spec_(spec) {}

  void Options();
  void Home(const std::string& home);
  void Side(const char* name, const SideSpec& side);
  std::vector<Problem> Take() { return std::move(problems_); }

 private:
  void Add(const std::string& code, const std::string& message, const std::string& fix);
  void Add(const std::string& code, const Error& error) { Add(code, error.message, error.fix); }
  void Revision(const SideSpec& side);
  void Command(const char* name, const SideSpec& side);
  void Script(const SideSpec& side, const Interpreter& interpreter);
  void Torch(const SideSpec& side, const Interpreter& interpreter);

  const PairSpec& spec_;
  std::vector<Problem> problems_;
};

void Checker::Add(const std::string& code, const std::string& message, const std::string& fix) {
  const auto same = [&](const Problem& p) { return p.code == code && p.message == message; };
  if (std::none_of(problems_.begin(), problems_.end(), same)) {
    problems_.push_back({code, message, fix});
  }
}

void Checker::Options() {
  const auto one_of = [this](const char* name, const std::string& value, const char* first,
                             const char* second) {
    if (value != first && value != second) {
      Add("option", fmt::format("{} is \"{}\"", name, value),
          fmt::format("use \"{}\" or \"{}\"", first, second));
    }
  };
  one_of("mode", spec_.mode, "full", "trusted");
  one_of("level", spec_.level, "outer", "inner");
  one_of("determinism", spec_.determinism, "record", "on");
  if (spec_.repeats < 1) Add("option", "repeats is 0", "use 1 or more");
  if (spec_.from_step < 1) Add("option", "from_step is 0", "steps count from 1");
  if (spec_.timeout.count() < 1) Add("option", "timeout is not positive", "give some seconds");
  if (spec_.stop_after_steps && spec_.steps == 0) {
    Add("option", "stop_after_steps needs a number of steps", "give steps, for example 5");
  }
}

void Checker::Home(const std::string& home) {
  if (!IsWritableFolder(home)) {
    Add("home", fmt::format("the folder for pairs, {}, is not writable", home),
        "set OPGUARD_HOME to a writable folder");
    return;
  }
  std::error_code error;
  fs::path existing = home;
  while (!fs::exists(existing, error)) existing = existing.parent_path();
  struct statvfs disk;
  if (statvfs(existing.c_str(), &disk) != 0) return;
  const std::uint64_t free = disk.f_bavail * disk.f_frsize;
  if (free < kLeastFreeBytes) {
    Add("disk",
        fmt::format("{} has {} MiB free; traces need at least {} MiB", home, free >> 20,
                    kLeastFreeBytes >> 20),
        "free some disk space, or set OPGUARD_HOME to another disk");
  }
}

void Checker::Side(const char* name, const SideSpec& side) {
  std::error_code error;
  if (!fs::path(side.workdir).is_absolute() || !fs::is_directory(side.workdir, error)) {
    Add("workdir", fmt::format("the workdir {} is no folder", side.workdir),
        "give an existing folder");
    return;
  }
  if (!side.git_ref.empty()) Revision(side);
  Command(name, side);
}

void Checker::Revision(const SideSpec& side) {
  const auto root = RepositoryRoot(side.workdir);
  if (!root) {
    Add("repository", root.error());
    return;
  }
  if (const auto commit = ResolveCommit(*root, side.git_ref); !commit) {
    Add("revision", commit.error());
  }
  for (const std::string& link : spec_.link) {
    std::error_code error;
    if (!fs::exists(fs::path(side.workdir) / link, error)) {
      Add("link", fmt::format("link {} does not exist in {}", link, side.workdir),
          "give paths relative to workdir that exist");
    }
  }
}

void Checker::Command(const char* name, const SideSpec& side) {
  const Environment environment = EnvironmentWith(side.env);
  const auto interpreter = ResolveInterpreter(side.argv, environment, side.workdir);
  if (!interpreter) {
    Add("interpreter", fmt::format("side {}: {}", name, interpreter.error().message),
        interpreter.error().fix);
    return;
  }
  if (!interpreter->blocking_option.empty()) {
    Add("not_reached",
        fmt::format("Python's option {} makes it ignore PYTHONPATH or site, by which capture is "
                    "injected",
                    interpreter->blocking_option),
        fmt::format("run the command without {}", interpreter->blocking_option));
  }
  Script(side, *interpreter);
  Torch(side, *interpreter);
}

void Checker::Script(const SideSpec& side, const Interpreter& interpreter) {
  if (interpreter.script.empty()) return;
  std::error_code error;
  const fs::path script = interpreter.script;
  if (side.git_ref.empty()) {
    if (!fs::exists(script, error)) {
      Add("script", fmt::format("the program {} does not exist", script.string()),
          "give its path relative to workdir, or absolute");
    }
    return;
  }
  const auto root = RepositoryRoot(side.workdir);
  const auto commit = root ? ResolveCommit(*root, side.git_ref) : root;
  if (!commit) return;
  const auto is_named = [&](const std::string& word) { return word == script.string(); };
  // Git's root has its symbolic links resolved.
  const std::string below = fs::weakly_canonical(script, error).lexically_relative(*root).string();
  const bool in_repository = !below.empty() && below.rfind("..", 0) != 0;
  if (in_repository && std::any_of(side.argv.begin(), side.argv.end(), is_named)) {
    Add("absolute_path",
        fmt::format("the command names {} absolutely: every revision would run the same file",
                    script.string()),
        "name the program relative to workdir");
  } else if (in_repository && !CommitHas(*root, *commit, below) &&
             std::find(spec_.link.begin(), spec_.link.end(), below) == spec_.link.end()) {
    Add("script", fmt::format("revision {} has no {}", side.git_ref, below),
        "choose a revision that has the program, or carry it with link");
  }
}

void Checker::Torch(const SideSpec& side, const Interpreter& interpreter) {
  if (const auto shim = ShimFolder(); !shim) {
    Add("sources", shim.error());
    return;
  }
  const auto torch = ProbeTorch(interpreter.path, EnvironmentWith(side.env), side.workdir);
  if (!torch) {
    // A guessed interpreter without torch says nothing about the one that will run.
    if (interpreter.certain) Add("torch", torch.error());
    return;
  }
  if (const auto can_build = CheckCanBuild(*torch); !can_build) {
    Add("capture", can_build.error());
  }
}

}  // namespace

std::vector<Problem> Preflight(const PairSpec& spec) {
  return Preflight(spec, analysis::PairStore::DefaultHome(spec.a.workdir));
}

std::vector<Problem> Preflight(const PairSpec& spec, const std::string& home) {
  Checker checker(spec);
  checker.Options();
  checker.Home(home);
  checker.Side("A", spec.a);
  checker.Side("B", spec.b);
  return checker.Take();
}

}  // namespace opguard::runner
