// One connection: parses what the client sends, routes it to the eras, and answers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "protocol/call_state.h"
#include "protocol/methods.h"

namespace opguard::mcp {

// Far above what agents have in flight; it bounds what waits for a worker.
inline constexpr std::size_t kMaxInFlight = 128;
inline constexpr std::size_t kMaxBatch = 128;  // messages

// What a transport gives to its sessions. All may be called from any thread.
struct SessionHooks {
  // Sends one message, a line without its newline. Must write messages whole and in the order of
  // the calls.
  std::function<void(const std::string& line)> send;
  // Runs a task on another thread; at once on this one is allowed and blocks the reader meanwhile.
  std::function<void(std::function<void()> task)> run;
  // For people; null drops it. Never holds contents of messages, excerpts excepted.
  std::function<void(const std::string& note)> log;
  CallState::Clock clock = std::chrono::steady_clock::now;
};

// Receive, ReceiveOversize and Close must not overlap each other; everything else is thread-safe.
// Own it by std::shared_ptr: calls keep it alive.
class Session : public std::enable_shared_from_this<Session> {
 public:
  // `assumed_version`: a legacy revision whose handshake counts as done (stateless HTTP); empty
  // otherwise.
  Session(std::shared_ptr<const Server> server, SessionHooks hooks,
          std::string_view assumed_version = {});
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // One line without its newline. Answers may have been sent when it returns, or come later from
  // other threads. Never throws because of the line.
  void Receive(std::string_view line);
  // In place of a line longer than kMaxLineBytes, which the transport skipped.
  void ReceiveOversize();

  // Waits for calls to end; false if some still run after `patience`. Open subscriptions do not
  // count.
  bool WaitIdle(std::chrono::milliseconds patience);
  // Ends the subscriptions and cancels all calls. Those that then end are still answered.
  void Close();

 private:
  // Takes the answer to one request; null: there is none. Called once.
  using Respond = std::function<void(const Json* response)>;
  struct Batch;
  struct InFlight {
    std::shared_ptr<CallState> call;  // null: a subscription
    Respond respond;
  };

  void ReceiveMessage(Message message, const Respond& respond, bool is_batched);
  void ReceiveBatch(Json messages);
  void RefuseBatch(const Json& messages, const std::string& why);
  void ReceiveNotification(const Message& message);
  void ReceiveRequest(Message message, const Respond& respond, bool is_batched);
  void Initialize(const Message& request, const Respond& respond);
  void Listen(const Message& request, const Respond& respond);
  void RunInline(const Method& method, const Envelope& envelope, const Message& request,
                 const Respond& respond);
  void RunOnWorker(const Method& method, const Envelope& envelope, Message request,
                   const Respond& respond);
  void FinishCall(const Message& request, const std::shared_ptr<CallState>& call,
                  const Json& response, const Respond& respond);
  void Cancel(const Json& request_id);

  Json Answer(const Method& method, Era era, const Json& id, const Json& params,
              CallContext& context) const;
  bool IsInFlight(const std::string& key) const;
  bool IsFull() const;
  void Forget(const std::string& key, const std::shared_ptr<CallState>& call);
  void Send(const Json& message) const;
  // For what has no id to be answered under.
  void SendUnaddressed(const RpcError& error) const;
  void Log(const std::string& note) const;

  const std::shared_ptr<const Server> server_;
  const SessionHooks hooks_;
  std::string legacy_version_;  // of the last handshake; "" before one. Only for the reader.

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::map<std::string, InFlight> in_flight_;  // by the id as JSON: 1 and "1" differ
  std::size_t running_ = 0;                    // tasks given to `run`, cancelled ones included
};

}  // namespace opguard::mcp
