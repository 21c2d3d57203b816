#include "tools/prompts.h"

#include <string>
#include <string_view>
#include <utility>

#include "opguard_embedded.h"

namespace opguard::tools {
namespace {

constexpr std::string_view kSymptom = "{{symptom}}";
constexpr std::string_view kNothing = "nothing yet; ask, or look at the repository";

mcp::Prompt::Answer Investigate(const mcp::Json& arguments) {
  std::string symptom(kNothing);
  if (const auto given = arguments.find("symptom");
      given != arguments.end() && given->is_string() && !given->get<std::string>().empty()) {
    symptom = given->get<std::string>();
  }
  std::string text = embedded::kInvestigatePrompt;
  text.replace(text.find(kSymptom), kSymptom.size(), symptom);
  mcp::Prompt::Answer answer;
  answer.description = "How to find where two runs part";
  answer.messages.push_back({"user", {"text", std::move(text), {}, {}}});
  return answer;
}

}  // namespace

std::vector<mcp::Prompt> Prompts() {
  mcp::Prompt investigate;
  investigate.name = "investigate";
  investigate.title = "Find where two runs part";
  investigate.description =
      "Runs two sides of a training under capture, finds the first operation that differs and "
      "explains it.";
  investigate.arguments.push_back(
      {"symptom", "Symptom", "what should match and how it does not, with the commands", false});
  investigate.get = Investigate;
  return {std::move(investigate)};
}

}  // namespace opguard::tools
