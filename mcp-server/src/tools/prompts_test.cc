#include "tools/prompts.h"

#include <doctest/doctest.h>

#include <string>

#include "tools/catalogue.h"

namespace opguard::tools {
namespace {

std::string TextOf(const mcp::Json& arguments) {
  const auto prompts = Prompts();
  REQUIRE(prompts.size() == 1);
  const auto answer = prompts[0].get(arguments);
  REQUIRE(answer.error.empty());
  REQUIRE(answer.messages.size() == 1);
  CHECK(answer.messages[0].role == "user");
  return answer.messages[0].content.text;
}

TEST_CASE("The prompt holds the symptom, whatever it is") {
  CHECK(TextOf({{"symptom", "loss is 2.31, was 2.30"}}).find("loss is 2.31, was 2.30") !=
        std::string::npos);
  CHECK(TextOf({{"symptom", "{{symptom}}"}}).find("{{symptom}}") != std::string::npos);
  CHECK(TextOf(mcp::Json::object()).find("{{") == std::string::npos);
}

TEST_CASE("The prompt names every tool") {
  const std::string text = TextOf(mcp::Json::object());
  for (const mcp::Json& tool : ToolDefinitions()) {
    CHECK_MESSAGE(text.find("`" + tool.at("name").get<std::string>()) != std::string::npos,
                  tool.at("name"));
  }
}

}  // namespace
}  // namespace opguard::tools
