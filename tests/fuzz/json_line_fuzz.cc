// Everything a client can send: bytes are cut into lines, parsed, routed and answered. Each answer
// must be one JSON text that a strict parser accepts.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/session.h"
#include "transport/line_splitter.h"

namespace {

using opguard::mcp::CallContext;
using opguard::mcp::Json;
using opguard::mcp::Server;
using opguard::mcp::Session;

constexpr std::size_t kMaxBytes = 4096;

std::shared_ptr<const Server> MakeServer() {
  opguard::mcp::Service service;
  service.name = "fuzz";
  service.version = "0";
  opguard::mcp::Tool tool;
  tool.name = "echo";
  tool.input_schema["type"] = "object";
  tool.call = [](const Json& arguments, CallContext& context) {
    context.Progress(1, std::nullopt, "half");
    opguard::mcp::ToolResult result;
    result.structured = arguments;
    return result;
  };
  service.tools.push_back(std::move(tool));
  service.list_resources = [] { return std::vector<opguard::mcp::Resource>(); };
  service.complete = [](const std::string&, const std::string&, const std::string& argument,
                        const std::string& value) {
    return std::vector{argument, value};
  };
  return std::make_shared<const Server>(std::move(service));
}

void CheckAnswer(const std::string& line) {
  if (line.find('\n') != std::string::npos || !Json::accept(line)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::shared_ptr<const Server> server = MakeServer();
  opguard::mcp::SessionHooks hooks;
  hooks.send = CheckAnswer;
  hooks.run = [](const std::function<void()>& task) { task(); };
  const auto session = std::make_shared<Session>(server, std::move(hooks));
  opguard::mcp::LineSplitter splitter(
      kMaxBytes, [&](std::string_view line) { session->Receive(line); },
      [&] { session->ReceiveOversize(); });
  splitter.Feed({reinterpret_cast<const char*>(data), size});
  splitter.Finish();
  session->Close();
  return 0;
}
