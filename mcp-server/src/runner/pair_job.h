// Runs the unfinished runs of one pair, one after the other.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runner/process.h"
#include "runner/run_pair.h"
#include "runner/side_folder.h"

namespace opguard::runner {

class PairJob {
 public:
  // Takes the pair's lock with it.
  PairJob(analysis::Pair pair, std::unique_ptr<analysis::Pair::Lock> lock, PairSpec spec,
          std::string home);

  // Runs until all is done or cancelled; everything worth knowing is in the pair afterwards. For
  // one thread, once. The lock is released at the end.
  void Run();
  // The only run of Record: on the terminal, side A alone.
  void RunInForeground(const std::function<void(const std::string&)>& progress);
  // From any thread; takes effect within a tenth of a second.
  void Cancel() { cancelled_ = true; }

 private:
  Result<void> RunAll();
  Result<void> RunOne(analysis::RunInfo& run, bool in_foreground);
  Result<void> StartAndWait(const SideFolder& folder, analysis::RunInfo& run, bool in_foreground);
  void WaitFor(Process& process, analysis::RunInfo& run);
  Result<std::string> PrepareCapture(const SideSpec& side, const SideFolder& folder,
                                     const std::string& name);
  Result<void> ClearDirectory(const analysis::RunInfo& run);
  void CheckAfter(const analysis::RunInfo& run, const SideFolder& folder);
  void CheckSources(const analysis::RunInfo& run, const SideReport& report,
                    const SideFolder& folder);
  // What the first run of A may change under the feet of B; CompareShared warns of what it did.
  std::map<std::string, FolderState> SharedFolders(const analysis::RunInfo& run,
                                                   const SideFolder& folder) const;
  void CompareShared(const std::map<std::string, FolderState>& before);
  Result<std::unique_ptr<Process>> StartProcess(const SideFolder& folder,
                                                const analysis::RunInfo& run, bool in_foreground);
  void WarnUntracked(const SideSpec& side);
  void SetPhase(const std::string& phase);
  void Warn(const std::string& text);
  bool Captured(const analysis::RunInfo& run);
  void Finish(const Result<void>& outcome);
  const SideSpec& SideOf(const analysis::RunInfo& run) const;

  analysis::Pair pair_;
  std::unique_ptr<analysis::Pair::Lock> lock_;
  const PairSpec spec_;
  const std::string home_;
  std::function<void(const std::string&)> progress_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace opguard::runner
