#include "tools/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace opguard::tools {
namespace {

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Json Suggest(const std::string& tool, Json arguments, const std::string& why) {
  return Json{{"tool", tool}, {"arguments", std::move(arguments)}, {"why", why}};
}

std::string ErrorText(const Error& error) {
  std::string text = fmt::format("{}: {}", ErrorCodeName(error.code), error.message);
  if (!error.fix.empty()) text += fmt::format(" Fix: {}.", error.fix);
  if (!error.valid.empty()) text += fmt::format(" Valid: {}.", fmt::join(error.valid, ", "));
  return text;
}

mcp::ToolResult ErrorResult(const Error& error) {
  mcp::ToolResult result;
  result.is_error = true;
  result.structured = Json{{"status", "error"},
                           {"code", ErrorCodeName(error.code)},
                           {"message", error.message},
                           {"fix", error.fix},
                           {"valid", error.valid}};
  result.content.push_back({"text", ErrorText(error), {}, {}});
  return result;
}

mcp::ToolResult Success(Json structured) {
  mcp::ToolResult result;
  result.content.push_back({"text", Dump(structured), {}, {}});
  result.structured = std::move(structured);
  return result;
}

Json FitBudget(std::size_t budget, const std::vector<std::size_t>& items,
               const std::function<Json(std::size_t items)>& render) {
  Json answer;
  for (const std::size_t count : items) {
    answer = render(count);
    if (Dump(answer).size() <= budget) break;
  }
  return answer;
}

}  // namespace opguard::tools
