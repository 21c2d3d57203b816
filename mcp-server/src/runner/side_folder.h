// Where one run of a side takes place: the side's workdir itself, a worktree, or a copy.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runner/run_pair.h"

namespace opguard::runner {

class SideFolder {
 public:
  // `scratch` (made and removed by this class) holds the worktree or copy; what lies in `home` is
  // not copied. Errors: those of git.h; kIo when copying fails; kNotFound for a `link` that the
  // repository does not have.
  [[nodiscard]] static Result<SideFolder> Make(const PairSpec& spec, const SideSpec& side,
                                               const std::string& scratch, const std::string& home);
  ~SideFolder();
  SideFolder(SideFolder&& other) noexcept;
  SideFolder& operator=(SideFolder&&) = delete;

  const std::string& workdir() const { return workdir_; }
  // The worktree and the repository it was made from; empty for a side without a revision.
  const std::string& worktree() const { return worktree_; }
  const std::string& repository() const { return repository_; }
  // The command for this folder: a program named relative to the workdir that is not here (an
  // untracked .venv/bin/python) is named by its place in the side's own workdir.
  std::vector<std::string> Argv(const SideSpec& side) const;

 private:
  SideFolder() = default;
  Result<void> MakeWorktree(const PairSpec& spec, const SideSpec& side);
  Result<void> MakeCopy(const SideSpec& side, const std::string& home);

  std::string scratch_, workdir_, worktree_, repository_;
};

// Files below a folder with size and time, to see what a run changed. Version control, caches and
// environments are left out, and what exceeds 50,000 files.
class FolderState {
 public:
  FolderState(const std::string& folder, const std::string& home);
  // Paths relative to the folder that are new or changed in `later`, sorted.
  std::vector<std::string> ChangedIn(const FolderState& later) const;

 private:
  std::map<std::string, std::pair<std::uintmax_t, std::int64_t>> files_;
};

// Folders in which compilers of a training keep what they made, for a side's variables: inductor,
// Triton, CUDA's own.
std::vector<std::string> CompileCaches(const std::map<std::string, std::string>& environment);

}  // namespace opguard::runner
