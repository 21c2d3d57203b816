#include "protocol/method_params.h"

#include "protocol/json_line.h"

namespace opguard::mcp {

tl::unexpected<RpcError> InvalidParams(const std::string& what) {
  return tl::unexpected(RpcError{rpc_code::kInvalidParams, "Invalid params: " + what, nullptr});
}

tl::unexpected<RpcError> NotOffered(const std::string& capability) {
  return tl::unexpected(RpcError{rpc_code::kMethodNotFound,
                                 "Method not found: this server has no " + capability, nullptr});
}

tl::expected<std::string, RpcError> StringParam(const Json& params, const char* name) {
  const auto member = params.find(name);
  if (member == params.end() || !member->is_string()) {
    return InvalidParams(std::string(name) + " must be a string");
  }
  return member->get<std::string>();
}

tl::expected<Json, RpcError> ObjectParam(const Json& params, const char* name) {
  const auto member = params.find(name);
  if (member == params.end()) return Json::object();
  if (!member->is_object()) return InvalidParams(std::string(name) + " must be an object");
  return *member;
}

std::optional<RpcError> CheckCursor(const Json& params) {
  const auto cursor = params.find("cursor");
  if (cursor == params.end() || *cursor == "") return std::nullopt;
  return InvalidParams("cursor was not given out by this server").value();
}

}  // namespace opguard::mcp
