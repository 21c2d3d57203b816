#include "protocol/session.h"

#include <utility>
#include <vector>

#include "protocol/json_line.h"

namespace opguard::mcp {
namespace {

RpcError InvalidRequest(const std::string& what) {
  return {rpc_code::kInvalidRequest, "Invalid request: " + what, nullptr};
}

RpcError MethodNotFound(const std::string& method) {
  return {rpc_code::kMethodNotFound, "Method not found: " + Excerpt(method), nullptr};
}

// No code of JSON-RPC's or MCP's says "later".
RpcError Busy() {
  return {rpc_code::kInternalError,
          "Busy: " + std::to_string(kMaxInFlight) +
              " requests are in flight. Repeat this one when others were answered",
          nullptr};
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

// The answers of one batch; sent together when the last is there.
struct Session::Batch {
  Batch(std::size_t size, std::shared_ptr<const Session> session)
      : pending(size), owner(std::move(session)) {}

  void Add(const Json* response) {
    const std::lock_guard lock(mutex);
    if (response) responses.push_back(*response);
    if (--pending == 0 && !responses.empty()) owner->Send(responses);
  }

  std::mutex mutex;
  std::size_t pending;
  Json responses = Json::array();
  const std::shared_ptr<const Session> owner;
};

Session::Session(std::shared_ptr<const Server> server, SessionHooks hooks,
                 std::string_view assumed_version)
    : server_(std::move(server)), hooks_(std::move(hooks)), legacy_version_(assumed_version) {}

void Session::Receive(std::string_view line) {
  if (IsBlank(line)) return;
  ParsedLine parsed = ParseJsonLine(line);
  if (parsed.problem == JsonProblem::kSyntax) {
    return SendUnaddressed({rpc_code::kParseError, "Parse error: " + parsed.detail, nullptr});
  }
  if (parsed.problem != JsonProblem::kNone) {
    const Message message = ParseMessage(std::move(parsed.value));
    if (message.kind == Message::Kind::kNotification) return Log("ignored: " + parsed.detail);
    const RpcError error = InvalidRequest(parsed.detail);
    if (message.id.is_null()) return SendUnaddressed(error);
    return Send(MakeError(message.id, error));
  }
  if (parsed.value.is_array()) return ReceiveBatch(std::move(parsed.value));
  ReceiveMessage(
      ParseMessage(std::move(parsed.value)),
      [this](const Json* response) {
        if (response) Send(*response);
      },
      false);
}

void Session::ReceiveOversize() {
  SendUnaddressed(
      InvalidRequest("a message may have at most " + std::to_string(kMaxLineBytes) + " bytes"));
}

void Session::ReceiveMessage(Message message, const Respond& respond, bool is_batched) {
  switch (message.kind) {
    case Message::Kind::kRequest:
      return ReceiveRequest(std::move(message), respond, is_batched);
    case Message::Kind::kNotification:
      ReceiveNotification(message);
      return respond(nullptr);
    case Message::Kind::kResponse:  // this server sends no requests
      Log("ignored a response to no request");
      return respond(nullptr);
    case Message::Kind::kInvalid:
      break;
  }
  if (message.id.is_null()) {
    SendUnaddressed(message.error);
    return respond(nullptr);
  }
  const Json error = MakeError(message.id, message.error);
  respond(&error);
}

void Session::ReceiveBatch(Json messages) {
  if (legacy_version_ != kBatchVersion) {
    return RefuseBatch(messages, "batches exist only in protocol version 2025-03-26");
  }
  if (messages.empty()) return RefuseBatch(messages, "an empty batch");
  if (messages.size() > kMaxBatch) {
    return RefuseBatch(messages,
                       "a batch may have at most " + std::to_string(kMaxBatch) + " messages");
  }
  const auto batch = std::make_shared<Batch>(messages.size(), shared_from_this());
  for (Json& message : messages) {
    ReceiveMessage(
        ParseMessage(std::move(message)), [batch](const Json* response) { batch->Add(response); },
        true);
  }
}

// Each of its requests gets an error, so that no client waits for an answer.
void Session::RefuseBatch(const Json& messages, const std::string& why) {
  const RpcError error = InvalidRequest(why);
  bool is_answered = false;
  for (const Json& item : messages) {
    const Message message = ParseMessage(item);
    if (message.kind != Message::Kind::kRequest) continue;
    Send(MakeError(message.id, error));
    is_answered = true;
  }
  if (!is_answered) SendUnaddressed(error);
}

void Session::ReceiveNotification(const Message& message) {
  if (message.method != "notifications/cancelled" || !message.params.is_object()) return;
  const auto id = message.params.find("requestId");
  if (id != message.params.end() && IsValidId(*id)) Cancel(*id);
}

void Session::ReceiveRequest(Message message, const Respond& respond, bool is_batched) {
  const auto refuse = [&](const RpcError& error) {
    const Json response = MakeError(message.id, error);
    respond(&response);
  };
  const auto envelope = RouteRequest(message.method, message.params, !legacy_version_.empty());
  if (!envelope) return refuse(envelope.error());
  const bool is_modern = envelope->era == Era::kModern;
  if (is_batched && (is_modern || message.method == "initialize")) {
    return refuse(InvalidRequest("not allowed in a batch"));
  }
  if (IsInFlight(message.id.dump())) {
    return refuse(InvalidRequest("a request with this id is in flight"));
  }
  if (!is_modern && message.method == "initialize") return Initialize(message, respond);
  if (is_modern && message.method == "subscriptions/listen") {
    return IsFull() ? refuse(Busy()) : Listen(message, respond);
  }
  const Method* method = FindMethod(message.method, envelope->era);
  if (!method) return refuse(MethodNotFound(message.method));
  if (!method->on_worker) return RunInline(*method, *envelope, message, respond);
  if (IsFull()) return refuse(Busy());
  RunOnWorker(*method, *envelope, std::move(message), respond);
}

void Session::Initialize(const Message& request, const Respond& respond) {
  legacy_version_ = NegotiateLegacyVersion(request.params);
  Json result;
  result["protocolVersion"] = legacy_version_;
  result["capabilities"] = server_->capabilities();
  result["serverInfo"] = server_->server_info();
  if (!server_->service().instructions.empty()) {
    result["instructions"] = server_->service().instructions;
  }
  const Json response = MakeResult(request.id, std::move(result));
  respond(&response);
}

// Nothing this server has changes, so what is granted is the empty set.
void Session::Listen(const Message& request, const Respond& respond) {
  const auto wanted = request.params.find("notifications");
  if (wanted == request.params.end() || !wanted->is_object()) {
    const Json response = MakeError(
        request.id,
        {rpc_code::kInvalidParams, "Invalid params: notifications must be an object", nullptr});
    return respond(&response);
  }
  {
    const std::lock_guard lock(mutex_);
    in_flight_[request.id.dump()] = {nullptr, respond};
  }
  Json params;
  params["_meta"][meta_key::kSubscriptionId] = request.id;
  params["notifications"] = Json::object();
  Send(MakeNotification("notifications/subscriptions/acknowledged", std::move(params)));
}

Json Session::Answer(const Method& method, Era era, const Json& id, const Json& params,
                     CallContext& context) const {
  Outcome outcome = RunMethod(method, *server_, params, context);
  if (!outcome) return MakeError(id, outcome.error());
  DecorateResult(*outcome, era, method.caching, server_->server_info());
  return MakeResult(id, std::move(*outcome));
}

void Session::RunInline(const Method& method, const Envelope& envelope, const Message& request,
                        const Respond& respond) {
  CallState call(nullptr, nullptr, hooks_.clock);
  const Json response = Answer(method, envelope.era, request.id, request.params, call);
  respond(&response);
}

void Session::RunOnWorker(const Method& method, const Envelope& envelope, Message request,
                          const Respond& respond) {
  const auto call = std::make_shared<CallState>(
      envelope.progress_token, [this](const Json& message) { Send(message); }, hooks_.clock);
  {
    const std::lock_guard lock(mutex_);
    in_flight_[request.id.dump()] = {call, respond};
    ++running_;
  }
  hooks_.run([self = shared_from_this(), &method, era = envelope.era, request = std::move(request),
              call, respond] {
    const Json response =
        call->cancelled()
            ? MakeError(request.id, {rpc_code::kInternalError, "The server stops", nullptr})
            : self->Answer(method, era, request.id, request.params, *call);
    self->FinishCall(request, call, response, respond);
  });
}

void Session::FinishCall(const Message& request, const std::shared_ptr<CallState>& call,
                         const Json& response, const Respond& respond) {
  const bool is_wanted = call->Close();
  // Before the answer: once the client has it, it may use the id again.
  Forget(request.id.dump(), call);
  if (is_wanted) respond(&response);
  const std::lock_guard lock(mutex_);
  --running_;
  idle_.notify_all();
}

void Session::Cancel(const Json& request_id) {
  InFlight cancelled;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = in_flight_.find(request_id.dump());
    if (entry == in_flight_.end()) return;
    cancelled = std::move(entry->second);
    in_flight_.erase(entry);
  }
  if (!cancelled.call || cancelled.call->Cancel(CallState::Reason::kClient)) {
    cancelled.respond(nullptr);
  }
}

bool Session::IsInFlight(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return in_flight_.contains(key);
}

bool Session::IsFull() const {
  const std::lock_guard lock(mutex_);
  return running_ >= kMaxInFlight || in_flight_.size() >= kMaxInFlight;
}

void Session::Forget(const std::string& key, const std::shared_ptr<CallState>& call) {
  const std::lock_guard lock(mutex_);
  const auto entry = in_flight_.find(key);
  if (entry != in_flight_.end() && entry->second.call == call) in_flight_.erase(entry);
}

bool Session::WaitIdle(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, patience, [this] { return running_ == 0; });
}

void Session::Close() {
  std::map<std::string, InFlight> open;
  {
    const std::lock_guard lock(mutex_);
    open = in_flight_;
    std::erase_if(in_flight_, [](const auto& entry) { return !entry.second.call; });
  }
  for (const auto& [key, entry] : open) {
    if (entry.call) {
      entry.call->Cancel(CallState::Reason::kShutdown);
      continue;
    }
    const Json id = Json::parse(key);
    Json result;
    result["_meta"][meta_key::kSubscriptionId] = id;
    DecorateResult(result, Era::kModern, Caching::kNone, server_->server_info());
    const Json response = MakeResult(id, std::move(result));
    entry.respond(&response);
  }
}

void Session::Send(const Json& message) const { hooks_.send(DumpJsonLine(message)); }

void Session::SendUnaddressed(const RpcError& error) const {
  Log(error.message);
  if (!legacy_version_.empty() && legacy_version_ < kFirstVersionWithErrorsWithoutId) return;
  Send(MakeError(nullptr, error));
}

void Session::Log(const std::string& note) const {
  if (hooks_.log) hooks_.log(note);
}

}  // namespace opguard::mcp
