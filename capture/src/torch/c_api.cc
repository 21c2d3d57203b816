#include "opguard/capture/c_api.h"

#include <torch/version.h>

#include <string>

#include "session.h"

#define OPGUARD_EXPORT __attribute__((visibility("default")))

namespace opguard::capture {
namespace {

std::string& LastError() {
  thread_local std::string text;
  return text;
}

// An error's number and text for a C caller.
template <typename Action>
int Reported(const Action& action) noexcept {
  try {
    const Result<void> result = action();
    LastError() = result ? std::string() : result.error().message;
    return result ? 0 : 1 + static_cast<int>(result.error().code);
  } catch (const std::exception& error) {
    LastError() = error.what();
  } catch (...) {
    LastError() = "an unknown exception";
  }
  return 1 + static_cast<int>(ErrorCode::kInternal);
}

}  // namespace
}  // namespace opguard::capture

using namespace opguard::capture;  // NOLINT(google-build-using-namespace): C functions only

extern "C" {

OPGUARD_EXPORT int opguard_start(const char* config) {
  return Reported([&] { return StartSession(config == nullptr ? "" : config); });
}

OPGUARD_EXPORT int opguard_stop(void) {
  return Reported([] { return StopSession(); });
}

OPGUARD_EXPORT int opguard_flush(void) {
  return Reported([] {
    Recorder* recorder = CurrentRecorder();
    return recorder == nullptr ? opguard::Result<void>{} : recorder->Flush();
  });
}

OPGUARD_EXPORT const char* opguard_last_error(void) { return LastError().c_str(); }

OPGUARD_EXPORT const char* opguard_version(void) { return OPGUARD_VERSION " " TORCH_VERSION; }

OPGUARD_EXPORT int opguard_should_stop(void) {
  int stop = 0;
  Guarded([&](Recorder& recorder, Lane&) {
    stop = recorder.config.stop_after_steps && recorder.steps.PastWindow();
  });
  return stop;
}

OPGUARD_EXPORT int64_t opguard_module(const char* name, const char* class_name) {
  int64_t id = 0;
  Guarded([&](Recorder& recorder, Lane&) { id = recorder.catalogue.Module(name, class_name); });
  return id;
}

OPGUARD_EXPORT void opguard_module_enter(int64_t module) {
  Guarded([&](Recorder&, Lane& lane) { lane.modules.push_back(module); });
}

OPGUARD_EXPORT void opguard_module_exit(void) {
  Guarded([](Recorder&, Lane& lane) {
    if (!lane.modules.empty()) lane.modules.pop_back();
  });
}

OPGUARD_EXPORT void opguard_environment(const char* key, const char* value) {
  (void)Reported([&] {
    SetEnvironment(key, value);
    return opguard::Result<void>{};
  });
}

OPGUARD_EXPORT void opguard_note(const char* code, const char* text) {
  Guarded([&](Recorder& recorder, Lane&) { recorder.catalogue.AddNote(0, code, text); });
}

OPGUARD_EXPORT void opguard_suspend(const char* reason) {
  Guarded([&](Recorder& recorder, Lane& lane) {
    if (lane.suspensions++ == 0) lane.suspend_reason = recorder.SkipReasonOf(reason);
  });
}

OPGUARD_EXPORT void opguard_resume(void) {
  Guarded([](Recorder&, Lane& lane) {
    if (lane.suspensions > 0) --lane.suspensions;
  });
}

OPGUARD_EXPORT void opguard_after_fork_child(void) { AfterForkInChild(); }

}  // extern "C"
