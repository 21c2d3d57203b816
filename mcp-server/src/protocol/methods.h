// The request methods that are answered from a Server alone. `initialize` and
// `subscriptions/listen` change a connection and are in session.cc.
#pragma once

#include <string_view>
#include <tl/expected.hpp>

#include "protocol/era.h"
#include "protocol/server.h"

namespace opguard::mcp {

using Outcome = tl::expected<Json, RpcError>;

struct Method {
  std::string_view name;
  bool legacy, modern;  // the eras that have it
  bool on_worker;       // runs code of the service, which may take long
  Caching caching;
  Outcome (*handle)(const Server& server, const Json& params, CallContext& context);
};

// Null if the era has no such method.
const Method* FindMethod(std::string_view name, Era era);

// Calls the handler; what it throws becomes -32603. `params` may be null.
Outcome RunMethod(const Method& method, const Server& server, const Json& params,
                  CallContext& context);

}  // namespace opguard::mcp
