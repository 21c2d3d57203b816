#include "protocol/rpc.h"

#include <utility>

namespace opguard::mcp {
namespace {

Message Invalid(Json id, std::string why) {
  Message message;
  message.id = std::move(id);
  message.error = {rpc_code::kInvalidRequest, "Invalid request: " + std::move(why), nullptr};
  return message;
}

}  // namespace

bool IsValidId(const Json& id) { return id.is_string() || id.is_number_integer(); }

Message ParseMessage(Json value) {
  if (!value.is_object()) return Invalid(nullptr, "a message is a JSON object");
  const bool has_id = value.contains("id");
  const bool has_method = value.contains("method");
  if (!has_method && (value.contains("result") || value.contains("error"))) {
    Message response;
    response.kind = Message::Kind::kResponse;
    return response;
  }
  Json id = has_id ? std::move(value["id"]) : Json();
  if (has_id && !IsValidId(id)) return Invalid(nullptr, "id must be a string or an integer");
  if (!has_method || !value["method"].is_string()) {
    return Invalid(std::move(id), "method must be a string");
  }
  const auto version = value.find("jsonrpc");
  const bool is_version_2 = version != value.end() && *version == "2.0";
  if (has_id && !is_version_2) return Invalid(std::move(id), "jsonrpc must be \"2.0\"");
  Message message;
  message.kind = has_id ? Message::Kind::kRequest : Message::Kind::kNotification;
  message.id = std::move(id);
  message.method = std::move(value["method"].get_ref<std::string&>());
  if (const auto params = value.find("params"); params != value.end()) {
    message.params = std::move(*params);
  }
  return message;
}

Json MakeError(const Json& id, const RpcError& error) {
  Json message;
  message["jsonrpc"] = "2.0";
  if (!id.is_null()) message["id"] = id;
  message["error"] = {{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) message["error"]["data"] = error.data;
  return message;
}

Json MakeResult(const Json& id, Json result) {
  Json message = {{"jsonrpc", "2.0"}, {"id", id}};
  message["result"] = std::move(result);
  return message;
}

Json MakeNotification(std::string_view method, Json params) {
  Json message = {{"jsonrpc", "2.0"}, {"method", method}};
  message["params"] = std::move(params);
  return message;
}

}  // namespace opguard::mcp
