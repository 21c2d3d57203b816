#include "transport/stdio.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "protocol/json_line.h"
#include "protocol/session.h"
#include "transport/event_pipe.h"
#include "transport/line_splitter.h"
#include "transport/line_writer.h"
#include "transport/standard_streams.h"
#include "transport/stop_signals.h"
#include "transport/worker_pool.h"

namespace opguard::mcp {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr milliseconds kLookEvery{10};  // at events, while calls end
enum Event : char { kReaderEnded = 'r', kStopSignal = 's', kOutputBroken = 'o' };

// Shared by the reader, the workers and the main thread: any of them may be left behind.
struct Connection {
  Connection(StandardStreams streams, std::size_t max_workers)
      : in(std::move(streams.in)),
        writer(std::move(streams.out), [this] { events.Send(kOutputBroken); }),
        pool(max_workers) {}

  EventPipe events, stop_reading;
  const UniqueFd in;
  LineWriter writer;
  WorkerPool pool;
};

void ReadLines(const Connection& connection, LineSplitter& splitter) {
  std::vector<char> buffer(kReadBytes);
  for (;;) {
    pollfd ready[2] = {{connection.in.get(), POLLIN, 0},
                       {connection.stop_reading.receive_fd(), POLLIN, 0}};
    if (poll(ready, 2, -1) < 0) continue;  // EINTR
    if (ready[1].revents != 0) return;
    const ssize_t count = read(connection.in.get(), buffer.data(), buffer.size());
    if (count > 0) {
      splitter.Feed({buffer.data(), static_cast<std::size_t>(count)});
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
      return splitter.Finish();
    }
  }
}

// A thread's entry must not let exceptions out; out of memory is the one that can come here.
void ReceiveLine(Session& session, std::string_view line, const StdioOptions& options) {
  try {
    session.Receive(line);
  } catch (const std::exception& exception) {
    if (options.log) options.log(std::string("a message was lost: ") + exception.what());
  }
}

std::thread StartReader(std::shared_ptr<Connection> connection, std::shared_ptr<Session> session,
                        const StdioOptions& options) {
  return std::thread([connection = std::move(connection), session = std::move(session), options] {
    LineSplitter splitter(
        kMaxLineBytes, [&](std::string_view line) { ReceiveLine(*session, line, options); },
        [&] { session->ReceiveOversize(); });
    ReadLines(*connection, splitter);
    connection->events.Send(kReaderEnded);
  });
}

class Shutdown {
 public:
  Shutdown(Connection& connection, Session& session, const StdioOptions& options)
      : connection_(connection), session_(session), options_(options) {}

  // Returns the cause, after the first event.
  StdioEnd::Cause Await() {
    for (;;) {
      const auto event = connection_.events.Receive(milliseconds(-1));
      if (!event) continue;
      Take(*event);
      if (event == kReaderEnded) return StdioEnd::Cause::kEndOfInput;
      if (event == kStopSignal) return StdioEnd::Cause::kSignal;
      return StdioEnd::Cause::kOutputClosed;
    }
  }

  // True if all calls ended.
  bool Run(StdioEnd::Cause cause) {
    const auto start = SteadyClock::now();
    connection_.stop_reading.Send('x');
    connection_.writer.GiveUpAfter(start + options_.drain + options_.cancel);
    is_hurried_ = cause == StdioEnd::Cause::kOutputClosed;
    WaitUntilIdle(start + options_.drain);
    is_hurried_ = false;
    // The reader must have ended before the session is closed; only an OnCancel action can hold it.
    const auto last = SteadyClock::now() + options_.cancel;
    while (!is_reader_done_ && SteadyClock::now() < last) TakeEvents();
    if (!is_reader_done_) return false;
    session_.Close();
    return session_.WaitIdle(std::chrono::duration_cast<milliseconds>(last - SteadyClock::now())) &&
           connection_.pool.Stop(options_.cancel);
  }

  bool is_reader_done() const { return is_reader_done_; }

 private:
  void Take(char event) {
    if (event == kReaderEnded) {
      is_reader_done_ = true;
    } else {
      is_hurried_ = true;
    }
  }

  void TakeEvents() {
    if (const auto event = connection_.events.Receive(kLookEvery)) Take(*event);
  }

  void WaitUntilIdle(SteadyClock::time_point deadline) {
    while (!is_hurried_ && SteadyClock::now() < deadline) {
      if (is_reader_done_ && session_.WaitIdle(milliseconds(0))) return;
      TakeEvents();
    }
  }

  Connection& connection_;
  Session& session_;
  const StdioOptions& options_;
  bool is_reader_done_ = false, is_hurried_ = false;
};

std::shared_ptr<Session> MakeSession(std::shared_ptr<const Server> server,
                                     const std::shared_ptr<Connection>& connection,
                                     const StdioOptions& options) {
  SessionHooks hooks;
  hooks.send = [connection](const std::string& line) { connection->writer.Write(line); };
  hooks.run = [connection](std::function<void()> task) { connection->pool.Run(std::move(task)); };
  hooks.log = options.log;
  return std::make_shared<Session>(std::move(server), std::move(hooks));
}

}  // namespace

StdioEnd RunStdio(std::shared_ptr<const Server> server, const StdioOptions& options) {
  StandardStreams streams;
  if (const int error = ClaimStandardStreams(streams); error != 0) {
    return {StdioEnd::Cause::kFailed, error, false};
  }
  const auto connection = std::make_shared<Connection>(std::move(streams), options.max_workers);
  if (!connection->events.is_open() || !connection->stop_reading.is_open()) {
    return {StdioEnd::Cause::kFailed, EMFILE, false};
  }
  const StopSignals signals(connection->events, kStopSignal);
  const auto session = MakeSession(std::move(server), connection, options);
  std::thread reader = StartReader(connection, session, options);
  Shutdown shutdown(*connection, *session, options);
  StdioEnd end;
  end.cause = shutdown.Await();
  end.is_abandoned = !shutdown.Run(end.cause);
  if (shutdown.is_reader_done()) {
    reader.join();
  } else {
    reader.detach();
  }
  return end;
}

}  // namespace opguard::mcp
