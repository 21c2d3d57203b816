// A Service as an MCP server of both eras. What is the same for all connections is here, a
// connection is a Session (session.h).
#pragma once

#include <string>
#include <string_view>

#include "protocol/service.h"

namespace opguard::mcp {

// Immutable and thread-safe. Sessions and their calls share it (std::make_shared), for a call that
// ignores its cancellation may outlive the transport.
class Server {
 public:
  // What the lists hold is fixed here, resources excepted.
  explicit Server(Service service);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const Service& service() const { return service_; }
  const Json& server_info() const { return server_info_; }    // {name, title?, version}
  const Json& capabilities() const { return capabilities_; }  // the same in both eras
  const Json& tools() const { return tools_; }                // as listed
  const Json& prompts() const { return prompts_; }
  bool has_resources() const { return capabilities_.contains("resources"); }

  // Null if there is none of that name.
  const Tool* FindTool(std::string_view name) const;
  const Prompt* FindPrompt(std::string_view name) const;

 private:
  const Service service_;
  Json server_info_, capabilities_, tools_, prompts_;
};

}  // namespace opguard::mcp
