// The variables that make a command capture itself.
#pragma once

#include <string>

#include "runner/environment.h"
#include "runner/run_pair.h"

namespace opguard::runner {

// OPGUARD_CAPTURE (ARCHITECTURE.md) for a run whose traces go to `directory`.
std::string CaptureConfiguration(const PairSpec& options, const std::string& directory,
                                 const std::string& cache);

// This process's variables, the side's over them, the shim in front of its PYTHONPATH, and what
// `determinism` asks for unless the side sets it itself.
Environment CaptureEnvironment(const PairSpec& options, const SideSpec& side,
                               const std::string& directory, const std::string& cache,
                               const std::string& shim);

}  // namespace opguard::runner
