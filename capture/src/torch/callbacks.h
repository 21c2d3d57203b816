// Observes every dispatcher call, autograd node and optimizer event of the process.
#pragma once

namespace opguard::capture {

void InstallCallbacks();
void RemoveCallbacks();

}  // namespace opguard::capture
