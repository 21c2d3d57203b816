#include "runner/side_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "runner/environment.h"
#include "runner/files.h"
#include "runner/git.h"
#include "runner/process.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;

bool IsInside(const fs::path& path, const fs::path& folder) {
  const auto relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

fs::path Canonical(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? fs::path(path) : canonical;
}

Result<void> Copy(const std::vector<std::string>& sources, const std::string& target) {
  if (sources.empty()) return {};
  std::vector<std::string> argv{"cp", "-a", "--reflink=auto", "-t", target, "--"};
  argv.insert(argv.end(), sources.begin(), sources.end());
  OPGUARD_ASSIGN(const Output output, RunToEnd(argv, AsList(EnvironmentWith({{"LC_ALL", "C"}})),
                                               "/", std::chrono::hours(1)));
  if (output.ok()) return {};
  return Fail(ErrorCode::kIo, fmt::format("cannot copy to {}: {}", target, Trimmed(output.err)),
              "free some disk space, or leave out isolate");
}

// `home` may lie anywhere below `from`, and the copy inside it: folders on the way are entered.
Result<void> CopyWithout(const fs::path& from, const fs::path& to, const fs::path& home) {
  std::error_code error;
  fs::create_directories(to, error);
  std::vector<std::string> whole;
  for (const auto& entry : fs::directory_iterator(from, error)) {
    if (entry.path() == home) continue;
    if (IsInside(home, entry.path())) {
      OPGUARD_TRY(CopyWithout(entry.path(), to / entry.path().filename(), home));
    } else {
      whole.push_back(entry.path().string());
    }
  }
  if (error) {
    return Fail(ErrorCode::kIo, fmt::format("cannot copy {}: {}", from.string(), error.message()),
                "make the folder readable");
  }
  return Copy(whole, to.string());
}

bool IsNoise(const fs::path& name) {
  static constexpr std::array kNames{".git",         "__pycache__", ".venv",  "venv",
                                     "node_modules", ".hg",         ".cache", ".pytest_cache"};
  return std::find(kNames.begin(), kNames.end(), name.string()) != kNames.end();
}

}  // namespace

Result<SideFolder> SideFolder::Make(const PairSpec& spec, const SideSpec& side,
                                    const std::string& scratch, const std::string& home) {
  SideFolder folder;
  folder.workdir_ = side.workdir;
  if (side.git_ref.empty() && !spec.isolate) return folder;
  folder.scratch_ = scratch;
  std::error_code error;
  if (side.git_ref.empty()) {
    fs::remove_all(scratch, error);
    OPGUARD_TRY(folder.MakeCopy(side, home));
  } else {
    OPGUARD_TRY(folder.MakeWorktree(spec, side));
  }
  return folder;
}

Result<void> SideFolder::MakeCopy(const SideSpec& side, const std::string& home) {
  OPGUARD_TRY(CopyWithout(Canonical(side.workdir), scratch_, Canonical(home)));
  workdir_ = scratch_;
  return {};
}

Result<void> SideFolder::MakeWorktree(const PairSpec& spec, const SideSpec& side) {
  OPGUARD_ASSIGN(repository_, RepositoryRoot(side.workdir));
  OPGUARD_ASSIGN(const std::string commit, ResolveCommit(repository_, side.git_ref));
  RemoveWorktree(repository_, scratch_);  // of an interrupted run
  OPGUARD_TRY(AddWorktree(repository_, commit, scratch_));
  worktree_ = scratch_;
  const fs::path below = Canonical(side.workdir).lexically_relative(Canonical(repository_));
  workdir_ = (fs::path(scratch_) / below).lexically_normal().string();
  std::error_code error;
  fs::create_directories(workdir_, error);
  for (const std::string& link : spec.link) {
    const fs::path source = fs::path(side.workdir) / link, target = fs::path(workdir_) / link;
    if (!IsInside(Canonical(source.string()), Canonical(repository_)) ||
        !fs::exists(source, error)) {
      return Fail(ErrorCode::kNotFound,
                  fmt::format("link {} is no path inside the repository", link),
                  "give paths relative to workdir");
    }
    fs::create_directories(target.parent_path(), error);
    if (!fs::exists(target, error)) fs::create_symlink(source, target, error);
    if (error) {
      return Fail(ErrorCode::kIo, fmt::format("cannot link {}: {}", link, error.message()));
    }
  }
  return {};
}

SideFolder::SideFolder(SideFolder&& other) noexcept
    : scratch_(std::exchange(other.scratch_, {})),
      workdir_(std::move(other.workdir_)),
      worktree_(std::move(other.worktree_)),
      repository_(std::move(other.repository_)) {}

SideFolder::~SideFolder() {
  if (scratch_.empty()) return;
  std::error_code error;
  if (!repository_.empty()) RemoveWorktree(repository_, scratch_);
  fs::remove_all(scratch_, error);
}

std::vector<std::string> SideFolder::Argv(const SideSpec& side) const {
  std::vector<std::string> argv = side.argv;
  if (argv.empty() || scratch_.empty()) return argv;
  const std::string& program = argv[0];
  const bool is_relative = program.find('/') != std::string::npos && program[0] != '/';
  if (is_relative && !IsExecutableFile(Absolute(program, workdir_)) &&
      IsExecutableFile(Absolute(program, side.workdir))) {
    argv[0] = Absolute(program, side.workdir);
  }
  return argv;
}

FolderState::FolderState(const std::string& folder, const std::string& home) {
  constexpr std::size_t kMost = 50'000;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    if (at->is_directory(unreadable)) {
      if (IsNoise(at->path().filename()) || at->path() == home) at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file(unreadable)) continue;
    const auto size = at->file_size(unreadable);
    const auto time = at->last_write_time(unreadable).time_since_epoch().count();
    files_[at->path().lexically_relative(folder).string()] = {size, time};
    if (files_.size() >= kMost) return;
  }
}

std::vector<std::string> FolderState::ChangedIn(const FolderState& later) const {
  std::vector<std::string> changed;
  for (const auto& [path, state] : later.files_) {
    const auto before = files_.find(path);
    if (before == files_.end() || before->second != state) changed.push_back(path);
  }
  return changed;
}

std::vector<std::string> CompileCaches(const std::map<std::string, std::string>& environment) {
  const std::string home = ValueOf(environment, "HOME", "/");
  const std::string user = ValueOf(environment, "USER", ValueOf(environment, "LOGNAME", "root"));
  return {ValueOf(environment, "TORCHINDUCTOR_CACHE_DIR",
                  ValueOf(environment, "TMPDIR", "/tmp") + "/torchinductor_" + user),
          ValueOf(environment, "TRITON_CACHE_DIR", home + "/.triton/cache"),
          ValueOf(environment, "CUDA_CACHE_PATH", home + "/.nv/ComputeCache")};
}

}  // namespace opguard::runner
