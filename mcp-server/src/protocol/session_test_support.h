// For tests: a session over a small service, whose tasks run when the test says so.
#pragma once

#include <doctest/doctest.h>

#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "protocol/session.h"

namespace opguard::mcp::testing {

inline constexpr char kModernMeta[] =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{}})";

inline Tool MakeTool(const std::string& name,
                     std::function<ToolResult(const Json&, CallContext&)> call) {
  Tool tool;
  tool.name = name;
  tool.description = "does " + name;
  tool.input_schema = {{"type", "object"}, {"properties", Json::object()}};
  tool.call = std::move(call);
  return tool;
}

inline ToolResult TextResult(const std::string& text, Json structured = nullptr) {
  ToolResult result;
  result.content = {{"text", text, {}, {}}};
  result.structured = std::move(structured);
  return result;
}

inline Service SmallService() {
  Service service;
  service.name = "small";
  service.version = "1";
  service.instructions = "be brief";
  service.tools.push_back(MakeTool(
      "echo", [](const Json& arguments, CallContext&) { return TextResult("e", arguments); }));
  service.tools.push_back(MakeTool(
      "throw", [](const Json&, CallContext&) -> ToolResult { throw std::runtime_error("bang"); }));
  Tool hollow =
      MakeTool("hollow", [](const Json&, CallContext&) { return TextResult("only text"); });
  hollow.output_schema = {{"type", "object"}, {"properties", Json::object()}};
  service.tools.push_back(hollow);
  Prompt prompt;
  prompt.name = "greet";
  prompt.arguments = {{"who", "", "", true}};
  prompt.get = [](const Json& arguments) {
    Prompt::Answer answer;
    if (arguments["who"] == "nobody") answer.error = "nobody is not greeted";
    answer.messages = {{"user", {"text", "hello", {}, {}}}};
    return answer;
  };
  service.prompts.push_back(prompt);
  service.list_resources = [] { return std::vector<Resource>{{"small://a", "a", "", "", ""}}; };
  service.read_resource = [](const std::string& uri) -> std::optional<ResourceText> {
    if (uri == "small://broken") throw std::runtime_error("disk");
    if (uri != "small://a") return std::nullopt;
    return ResourceText{uri, "text/plain", "A"};
  };
  service.complete = [](const std::string&, const std::string&, const std::string&,
                        const std::string&) { return std::vector<std::string>(150, "v"); };
  return service;
}

class Client {
 public:
  explicit Client(Service service = SmallService(), std::string_view assumed_version = {}) {
    SessionHooks hooks;
    hooks.send = [this](const std::string& line) { sent_.push_back(Json::parse(line)); };
    hooks.run = [this](std::function<void()> task) { tasks_.push_back(std::move(task)); };
    session_ = std::make_shared<Session>(std::make_shared<Server>(std::move(service)),
                                         std::move(hooks), assumed_version);
  }

  void Send(const std::string& line) { session_->Receive(line); }
  void RunTasks() {
    while (!tasks_.empty()) {
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }
  // What came since the last call, tasks run.
  std::vector<Json> Take() {
    RunTasks();
    return std::exchange(sent_, {});
  }
  Json Ask(const std::string& line) {
    Send(line);
    const std::vector<Json> messages = Take();
    REQUIRE(messages.size() == 1);
    return messages[0];
  }
  int ErrorCode(const std::string& line) {
    const Json answer = Ask(line);
    REQUIRE(answer.contains("error"));
    return answer["error"]["code"].get<int>();
  }
  Json Modern(const std::string& method, const std::string& params = "") {
    return Ask(R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{)" + kModernMeta +
               (params.empty() ? "" : ",") + params + "}}");
  }
  Json Legacy(const std::string& method, const std::string& params = "") {
    return Ask(R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{)" + params +
               "}}");
  }
  void Initialize(const std::string& version = "2025-11-25") {
    const Json answer = Legacy("initialize", R"("protocolVersion":")" + version + '"');
    REQUIRE(answer["result"]["protocolVersion"] == version);
  }
  Session& session() { return *session_; }
  std::size_t waiting_tasks() const { return tasks_.size(); }

 private:
  std::vector<Json> sent_;
  std::deque<std::function<void()>> tasks_;
  std::shared_ptr<Session> session_;
};

}  // namespace opguard::mcp::testing
