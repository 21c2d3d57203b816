// The process's recorder: made by opguard_start, made anew in a forked child.
#pragma once

#include <exception>
#include <map>
#include <string>

#include "opguard/store/result.h"
#include "recorder.h"

namespace opguard::capture {

// Null while capture is off.
Recorder* CurrentRecorder();
// The calling thread's lane of `recorder`.
Lane& CurrentLane(Recorder& recorder);

[[nodiscard]] Result<void> StartSession(const std::string& config);
[[nodiscard]] Result<void> StopSession();
// Kept for the traces of forked children as well.
void SetEnvironment(const std::string& key, const std::string& value);
// In a forked child: forgets the parent's recorder without touching it.
void AfterForkInChild();

// Runs `action(recorder, lane)`; whatever it throws switches capture off, and nothing else.
template <typename Action>
void Guarded(const Action& action) noexcept {
  Recorder* recorder = nullptr;
  try {
    recorder = CurrentRecorder();
    if (recorder != nullptr) action(*recorder, CurrentLane(*recorder));
  } catch (const std::exception& error) {
    if (recorder != nullptr) recorder->Disable("internal_error", error.what());
  } catch (...) {
    if (recorder != nullptr) recorder->Disable("internal_error", "an unknown exception");
  }
}

}  // namespace opguard::capture
