// One request in flight, as the handler and as the session see it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "protocol/service.h"

namespace opguard::mcp {

// Thread-safe. Guarantees to the handler: an OnCancel action runs at most once, and neither runs
// nor starts once Close has returned, so it may use what lives as long as the call.
class CallState final : public CallContext {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  using Notify = std::function<void(const Json& notification)>;

  // `progress_token` null: the client wants no progress.
  CallState(Json progress_token, Notify notify, Clock clock = std::chrono::steady_clock::now);

  bool cancelled() const override;
  void OnCancel(std::function<void()> action) override;
  void Progress(double progress, std::optional<double> total, const std::string& message) override;

  enum class Reason {
    kClient,    // the request is not answered any more
    kShutdown,  // it is answered if it ends in time
  };
  // Runs the actions on this thread. False if the call was closed or cancelled before.
  bool Cancel(Reason reason);
  // Ends the call: waits for running actions, drops the others and all further progress. False if
  // the client cancelled it, so that nothing may be sent.
  bool Close();

 private:
  std::optional<double> NextProgress(double progress, const std::string& message,
                                     std::chrono::steady_clock::time_point now) const;

  const Json progress_token_;
  const Notify notify_;
  const Clock clock_;

  mutable std::mutex mutex_;
  std::condition_variable actions_done_;
  std::vector<std::function<void()>> actions_;
  int running_actions_ = 0;
  bool closed_ = false;
  std::optional<Reason> cancelled_;
  struct Sent {
    double progress;
    std::string message;
    std::chrono::steady_clock::time_point time;
  };
  std::optional<Sent> last_;
};

}  // namespace opguard::mcp
