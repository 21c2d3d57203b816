#include "runner/git.h"

#include <fmt/format.h>

#include <filesystem>

#include "runner/environment.h"
#include "runner/files.h"
#include "runner/process.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;

Result<Output> Git(const std::string& folder, const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{"git", "-c", "core.hooksPath=/dev/null", "-C", folder};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  Environment environment = EnvironmentWith({{"GIT_TERMINAL_PROMPT", "0"}, {"LC_ALL", "C"}});
  // Set while a git hook runs us; they would lead to another repository.
  for (const char* name : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"}) environment.erase(name);
  auto output = RunToEnd(argv, AsList(environment), "/", std::chrono::minutes(10));
  if (output) return output;
  return Fail(ErrorCode::kMissingTool, "git cannot be run: " + output.error().message,
              "sudo apt-get install -y git");
}

std::vector<std::string> SplitAtNul(const std::string& text) {
  std::vector<std::string> items;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\0', at);
    items.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return items;
}

}  // namespace

Result<std::string> RepositoryRoot(const std::string& folder) {
  OPGUARD_ASSIGN(const Output output, Git(folder, {"rev-parse", "--show-toplevel"}));
  const std::string root = Trimmed(output.out);
  if (output.ok() && !root.empty()) return root;
  return Fail(ErrorCode::kNotFound,
              fmt::format("{} is in no git repository: {}", folder, Trimmed(output.err)),
              "give a workdir inside the repository, or leave out the revisions");
}

Result<std::string> ResolveCommit(const std::string& root, const std::string& ref) {
  OPGUARD_ASSIGN(const Output output, Git(root, {"rev-parse", "--verify", "--quiet",
                                                 "--end-of-options", ref + "^{commit}"}));
  const std::string commit = Trimmed(output.out);
  if (output.ok() && !commit.empty()) return commit;
  return Fail(ErrorCode::kNotFound, fmt::format("{} has no revision {}", root, ref),
              "give a branch, tag or commit that `git log` of this repository shows");
}

bool CommitHas(const std::string& root, const std::string& commit, const std::string& path) {
  const auto output = Git(root, {"cat-file", "-e", commit + ":" + path});
  return output && output->ok();
}

Result<void> AddWorktree(const std::string& root, const std::string& commit,
                         const std::string& folder) {
  OPGUARD_ASSIGN(const Output output,
                 Git(root, {"worktree", "add", "--detach", "--force", folder, commit}));
  if (output.ok()) return {};
  return Fail(ErrorCode::kIo,
              fmt::format("git cannot make a worktree of {} at {}: {}", commit, folder,
                          Trimmed(output.err)),
              "free some disk space, or run `git worktree prune`");
}

void RemoveWorktree(const std::string& root, const std::string& folder) {
  (void)Git(root, {"worktree", "remove", "--force", folder});
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  fs::remove_all(folder, error);
  (void)Git(root, {"worktree", "prune"});
}

std::set<std::string> TrackedFiles(const std::string& root) {
  const auto output = Git(root, {"ls-files", "-z"});
  if (!output || !output->ok()) return {};
  const auto files = SplitAtNul(output->out);
  return {files.begin(), files.end()};
}

std::vector<std::string> UntrackedPaths(const std::string& root) {
  const auto output = Git(root, {"ls-files", "-z", "--others", "--directory"});
  return output && output->ok() ? SplitAtNul(output->out) : std::vector<std::string>{};
}

}  // namespace opguard::runner
