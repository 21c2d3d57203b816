// A server with a tool for each behaviour that the black-box tests of the protocol need.
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "transport/stdio.h"

namespace opguard::mcp {
namespace {

using std::chrono::milliseconds;

void Note(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

ToolResult Text(const std::string& text, Json structured = nullptr, bool is_error = false) {
  ToolResult result;
  result.content = {{"text", text, {}, {}}};
  result.structured = std::move(structured);
  result.is_error = is_error;
  return result;
}

Json ObjectSchema(const char* properties) {
  return Json::parse(std::string(R"({"type":"object","additionalProperties":false,"properties":)") +
                     properties + "}");
}

Tool MakeTool(const std::string& name, const char* properties,
              std::function<ToolResult(const Json&, CallContext&)> call) {
  Tool tool;
  tool.name = name;
  tool.title = "The " + name + " tool";
  tool.description = "Does what its name says.";
  tool.input_schema = ObjectSchema(properties);
  tool.call = std::move(call);
  return tool;
}

ToolResult Echo(const Json& arguments, CallContext& /*context*/) {
  const std::string text = arguments.value("text", "");
  return Text(text, {{"text", text}, {"bytes", text.size()}});
}

// Waits `ms`, or until it is cancelled; tells standard error of its cancellation.
ToolResult Slow(const Json& arguments, CallContext& context) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_cancelled = false;
  };
  Shared shared;
  context.OnCancel([&shared] {
    Note("slow: cancelled");
    const std::lock_guard lock(shared.mutex);
    shared.is_cancelled = true;
    shared.changed.notify_all();
  });
  Note("slow: started");
  const auto end = std::chrono::steady_clock::now() + milliseconds(arguments.value("ms", 1000));
  std::unique_lock lock(shared.mutex);
  for (int step = 1; std::chrono::steady_clock::now() < end && !shared.is_cancelled; ++step) {
    lock.unlock();
    context.Progress(step, std::nullopt, "step " + std::to_string(step));
    lock.lock();
    shared.changed.wait_until(lock,
                              std::min(end, std::chrono::steady_clock::now() + milliseconds(20)),
                              [&] { return shared.is_cancelled; });
  }
  return Text(shared.is_cancelled ? "stopped" : "slept");
}

ToolResult Stubborn(const Json& /*arguments*/, CallContext& /*context*/) {
  Note("stubborn: started");
  std::this_thread::sleep_for(std::chrono::hours(1));
  return Text("never");
}

ToolResult Print(const Json& /*arguments*/, CallContext& /*context*/) {
  std::printf("stray printf\n");
  std::fflush(stdout);
  std::cout << "stray cout" << std::endl;
  const std::string direct = "stray write\n";
  if (write(STDOUT_FILENO, direct.data(), direct.size()) < 0) return Text("no stdout");
  if (std::system("echo stray child; cat") != 0) return Text("no child");  // cat sees no input
  return Text("printed");
}

std::vector<Tool> Tools() {
  std::vector<Tool> tools;
  tools.push_back(MakeTool("echo", R"({"text":{"type":"string"}})", Echo));
  tools.back().output_schema = Json::parse(
      R"({"type":"object","required":["text","bytes"],
          "properties":{"text":{"type":"string"},"bytes":{"type":"integer"}}})");
  tools.push_back(MakeTool("slow", R"({"ms":{"type":"integer"}})", Slow));
  tools.push_back(MakeTool("fail", "{}", [](const Json&, CallContext&) {
    return Text("not_found: nothing is here. Fix: look elsewhere.", nullptr, true);
  }));
  tools.push_back(MakeTool("throw", "{}", [](const Json&, CallContext&) -> ToolResult {
    throw std::runtime_error("a bang\xff");
  }));
  tools.push_back(MakeTool("stubborn", "{}", Stubborn));
  tools.push_back(MakeTool("print", "{}", Print));
  tools.push_back(
      MakeTool("large", R"({"bytes":{"type":"integer"}})", [](const Json& arguments, CallContext&) {
        return Text(std::string(arguments.value("bytes", 0u), 'x'));
      }));
  tools.back().meta = Json::parse(R"({"anthropic/maxResultSizeChars":500000})");
  return tools;
}

Prompt Investigate() {
  Prompt prompt;
  prompt.name = "investigate";
  prompt.title = "Investigate";
  prompt.arguments = {{"pair_id", "Pair", "which pair", true}, {"hint", "", "", false}};
  prompt.get = [](const Json& arguments) {
    Prompt::Answer answer;
    answer.description = "How to look";
    answer.messages = {
        {"user", {"text", "Look at " + arguments["pair_id"].get<std::string>(), {}, {}}}};
    return answer;
  };
  return prompt;
}

Service MakeService() {
  Service service;
  service.name = "fixture";
  service.title = "Fixture";
  service.version = "1.2.3";
  service.instructions = "For tests.";
  service.tools = Tools();
  service.prompts = {Investigate()};
  service.list_resources = [] {
    return std::vector<Resource>{{"fixture://a", "a", "A", "the first", "text/plain"}};
  };
  service.resource_templates = {{"fixture://{name}", "any", "", "", ""}};
  service.read_resource = [](const std::string& uri) -> std::optional<ResourceText> {
    if (uri != "fixture://a") return std::nullopt;
    return ResourceText{uri, "text/plain", "contents of a"};
  };
  service.complete = [](const std::string&, const std::string&, const std::string&,
                        const std::string& value) {
    return std::vector<std::string>{value + "1", value + "2"};
  };
  return service;
}

}  // namespace
}  // namespace opguard::mcp

// Arguments: the milliseconds of `drain` and `cancel`, if not the defaults.
int main(int argc, char** argv) {
  using opguard::mcp::StdioEnd;
  opguard::mcp::StdioOptions options;
  if (argc > 2) {
    options.drain = std::chrono::milliseconds(std::atoi(argv[1]));
    options.cancel = std::chrono::milliseconds(std::atoi(argv[2]));
  }
  options.log = [](const std::string& note) { opguard::mcp::Note("note: " + note); };
  const auto server = std::make_shared<opguard::mcp::Server>(opguard::mcp::MakeService());
  const StdioEnd end = opguard::mcp::RunStdio(server, options);
  const int status = end.cause == StdioEnd::Cause::kFailed ? 1 : 0;
  if (end.is_abandoned) std::_Exit(status);
  return status;
}
