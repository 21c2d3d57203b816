#include "session.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>

#include "callbacks.h"

namespace opguard::capture {
namespace {

struct Session {
  std::atomic<Recorder*> recorder = nullptr;  // never freed: a callback may be running in it
  std::atomic<bool> forked = false;           // a child that has no recorder yet
  std::mutex mutex;                           // guards what follows; held over fork()
  bool started = false, fork_handlers = false;
  Config config;
  std::map<std::string, std::string> environment;
};

Session& TheSession() {
  static auto* session = new Session;
  return *session;
}

Recorder* StartInChild(Session& session) {
  const std::lock_guard lock(session.mutex);
  if (!session.forked.exchange(false)) return session.recorder.load();
  auto* recorder = new Recorder(session.config, /*auxiliary=*/true, session.environment);
  session.recorder.store(recorder, std::memory_order_release);
  return recorder;
}

void BeforeFork() {
  Session& session = TheSession();
  session.mutex.lock();
  if (Recorder* recorder = session.recorder.load()) recorder->BeforeFork();
}
void AfterForkInParent() {
  Session& session = TheSession();
  if (Recorder* recorder = session.recorder.load()) recorder->AfterForkInParent();
  session.mutex.unlock();
}
void AfterForkHandler() {
  Session& session = TheSession();
  new (&session.mutex) std::mutex;
  session.forked = session.recorder.exchange(nullptr) != nullptr || session.forked;
}

}  // namespace

Recorder* CurrentRecorder() {
  Session& session = TheSession();
  Recorder* recorder = session.recorder.load(std::memory_order_acquire);
  if (recorder == nullptr && session.forked.load(std::memory_order_relaxed)) {
    recorder = StartInChild(session);
  }
  return recorder != nullptr && recorder->active() ? recorder : nullptr;
}

Lane& CurrentLane(Recorder& recorder) {
  thread_local const Recorder* owner = nullptr;
  thread_local Lane* lane = nullptr;
  if (owner != &recorder) {
    lane = &recorder.ThisLane();
    owner = &recorder;
  }
  return *lane;
}

Result<void> StartSession(const std::string& config) {
  OPGUARD_ASSIGN(const Config parsed, ParseConfig(config));
  Session& session = TheSession();
  const std::lock_guard lock(session.mutex);
  if (session.started) {
    return Fail(ErrorCode::kInvalidArgument, "capture was started already",
                "call opguard_stop first");
  }
  session.config = parsed;
  session.recorder = new Recorder(parsed, /*auxiliary=*/false, session.environment);
  session.started = true;
  if (!session.fork_handlers) {
    pthread_atfork(BeforeFork, AfterForkInParent, AfterForkHandler);
    session.fork_handlers = true;
  }
  InstallCallbacks();
  return {};
}

Result<void> StopSession() {
  Session& session = TheSession();
  const std::lock_guard lock(session.mutex);
  if (!session.started) return {};
  session.started = false;
  session.forked = false;
  RemoveCallbacks();
  Recorder* recorder = session.recorder.exchange(nullptr);
  return recorder == nullptr ? Result<void>{} : recorder->Stop();
}

void SetEnvironment(const std::string& key, const std::string& value) {
  Session& session = TheSession();
  const std::lock_guard lock(session.mutex);
  session.environment[key] = value;
  if (Recorder* recorder = session.recorder.load()) recorder->catalogue.SetEnvironment(key, value);
}

void AfterForkInChild() { AfterForkHandler(); }

}  // namespace opguard::capture
