// JSON-RPC 2.0 as MCP uses it: what one message is, and how answers are written.
#pragma once

#include <string>
#include <string_view>

#include "protocol/service.h"

namespace opguard::mcp {

namespace rpc_code {
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kUnsupportedProtocolVersion = -32022;
}  // namespace rpc_code

struct RpcError {
  int code = rpc_code::kInternalError;
  std::string message;
  Json data;  // null for none
};

struct Message {
  enum class Kind { kRequest, kNotification, kResponse, kInvalid };
  Kind kind = Kind::kInvalid;
  Json id;  // a string or an integer; null if there is none that could be answered
  std::string method;
  Json params;     // null if absent
  RpcError error;  // what makes it invalid
};

// True for what may identify a request or a progress: a string or an integer.
bool IsValidId(const Json& id);

Message ParseMessage(Json value);

// `id` null: the error carries no id, because none is known.
Json MakeError(const Json& id, const RpcError& error);
Json MakeResult(const Json& id, Json result);
Json MakeNotification(std::string_view method, Json params);

}  // namespace opguard::mcp
