// The call context of a subcommand: progress to stderr, SIGINT and SIGTERM as cancellation.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "protocol/service.h"

namespace opguard::cli {

// Construct before any other thread starts: it blocks both signals in the calling thread, so that
// threads made later inherit the mask, and waits for them on a thread of its own.
class CliContext : public mcp::CallContext {
 public:
  explicit CliContext(bool show_progress);
  ~CliContext() override;
  bool cancelled() const override { return cancelled_; }
  void OnCancel(std::function<void()> action) override;
  void Progress(double progress, std::optional<double> total, const std::string& message) override;

 private:
  void Watch();
  bool show_progress_;
  std::string last_message_;
  std::atomic<bool> cancelled_{false}, done_{false};
  std::mutex mutex_;
  std::vector<std::function<void()>> actions_;
  std::thread watcher_;
};

}  // namespace opguard::cli
