// What the store knows about the runs of a pair, as reports.
#pragma once

#include <string>
#include <vector>

#include "runner/run_pair.h"

namespace opguard::runner {

// Reads a run's traces (unless it is running: its writer has them), logs and notes.
SideReport ReportRun(const analysis::Pair& pair, const analysis::RunInfo& run,
                     std::vector<std::string>* problems);

// The state of a pair as its database has it; `is_running` tells whether somebody runs it.
[[nodiscard]] Result<PairReport> ReportPair(const analysis::Pair& pair, bool is_running);

// "code: text" of the note files, equal ones once with their count, at most 20.
std::vector<std::string> ReadNotes(const std::string& directory);

// Why a run may have captured nothing; for a warning.
std::string NothingCaptured(const std::string& run, const SideReport& report);
std::string RunName(const analysis::RunInfo& run);  // "A", "B (repeat 2)"

// Sources of the repository that a run imported from elsewhere than its own worktree, at most ten.
std::vector<std::string> ForeignSources(const SideReport& report, const std::string& repository,
                                        const std::string& worktree);

}  // namespace opguard::runner
