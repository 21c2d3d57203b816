// Reads and checks the parameters of requests. All errors are -32602.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "protocol/rpc.h"

namespace opguard::mcp {

tl::unexpected<RpcError> InvalidParams(const std::string& what);
// -32601 for a method whose capability is not there.
tl::unexpected<RpcError> NotOffered(const std::string& capability);

// A member that must be a string.
[[nodiscard]] tl::expected<std::string, RpcError> StringParam(const Json& params, const char* name);
// A member that must be an object; an empty one if it is absent.
[[nodiscard]] tl::expected<Json, RpcError> ObjectParam(const Json& params, const char* name);
// Every list is one page, so that only the cursor "" can be right.
[[nodiscard]] std::optional<RpcError> CheckCursor(const Json& params);

template <typename T>
std::string NamesOf(const std::vector<T>& items) {
  std::string names;
  for (const T& item : items) names += (names.empty() ? "" : ", ") + item.name;
  return names;
}

}  // namespace opguard::mcp
