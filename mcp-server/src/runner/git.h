// The few questions that OpGuard asks git, and worktrees. No hook of the repository is run and no
// credential asked for; a filter that the repository configures (git-lfs) runs at checkout.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "opguard/store/result.h"

namespace opguard::runner {

// Top folder of the repository that holds `folder`. kMissingTool without git; kNotFound if
// `folder` is in no repository.
[[nodiscard]] Result<std::string> RepositoryRoot(const std::string& folder);
// The full id of a revision's commit; kNotFound if there is none.
[[nodiscard]] Result<std::string> ResolveCommit(const std::string& root, const std::string& ref);
// Whether the commit's tree has this path (relative to the root).
bool CommitHas(const std::string& root, const std::string& commit, const std::string& path);
[[nodiscard]] Result<void> AddWorktree(const std::string& root, const std::string& commit,
                                       const std::string& folder);
void RemoveWorktree(const std::string& root, const std::string& folder);
// Paths relative to the root: of tracked files; of files and folders that git does not track.
std::set<std::string> TrackedFiles(const std::string& root);
std::vector<std::string> UntrackedPaths(const std::string& root);

}  // namespace opguard::runner
