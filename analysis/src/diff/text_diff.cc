#include "text_diff.h"

#include <algorithm>
#include <utility>

namespace opguard::analysis {
namespace {

using NameValue = std::pair<std::string, std::string>;

NameValue SplitArgument(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return {std::string(text), "given"};
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::vector<ArgumentDifference> Compare(const std::vector<NameValue>& a,
                                        const std::vector<NameValue>& b, const std::string& where) {
  const auto find = [](const std::vector<NameValue>& in, const std::string& name) {
    return std::find_if(in.begin(), in.end(),
                        [&](const NameValue& argument) { return argument.first == name; });
  };
  std::vector<ArgumentDifference> differences;
  for (const auto& [name, value] : a) {
    const auto other = find(b, name);
    if (other == b.end()) {
      differences.push_back({name, value, "", where});
    } else if (other->second != value) {
      differences.push_back({name, value, other->second, where});
    }
  }
  for (const auto& [name, value] : b) {
    if (find(a, name) == a.end()) differences.push_back({name, "", value, where});
  }
  return differences;
}

struct Call {
  std::string name;
  std::vector<NameValue> arguments;
};

// Splits at commas outside brackets and quotes.
Call ParseCall(std::string_view line) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  const auto open = line.find('(');
  Call call{std::string(line.substr(0, open)), {}};
  if (open == std::string_view::npos) return call;
  int depth = 0;
  bool is_quoted = false;
  std::string argument;
  const auto add = [&] {
    if (!argument.empty()) call.arguments.push_back(SplitArgument(argument));
    argument.clear();
  };
  for (std::size_t at = open + 1; at < line.size(); ++at) {
    const char c = line[at];
    if (is_quoted && c == '\\' && at + 1 < line.size()) {
      argument += c;
      argument += line[++at];
      continue;
    }
    if (c == '"') is_quoted = !is_quoted;
    if (!is_quoted && (c == '(' || c == '[')) ++depth;
    if (!is_quoted && (c == ')' || c == ']') && --depth < 0) break;
    if (!is_quoted && depth == 0 && c == ',') {
      add();
    } else if (!(argument.empty() && c == ' ')) {
      argument += c;
    }
  }
  add();
  return call;
}

}  // namespace

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<ArgumentDifference> CompareArguments(std::string_view a, std::string_view b) {
  std::vector<NameValue> of_a, of_b;
  for (const std::string& line : SplitLines(a)) of_a.push_back(SplitArgument(line));
  for (const std::string& line : SplitLines(b)) of_b.push_back(SplitArgument(line));
  return Compare(of_a, of_b, "");
}

InsideDifference CompareInside(const std::vector<std::string>& a,
                               const std::vector<std::string>& b) {
  InsideDifference difference;
  const std::size_t lines = std::max(a.size(), b.size());
  for (std::size_t i = 0; i < lines; ++i) {
    if (i < a.size() && i < b.size() && a[i] == b[i]) continue;
    difference.line = static_cast<std::int32_t>(i);
    if (i >= a.size() || i >= b.size()) {
      difference.is_other_call = true;
      break;
    }
    const Call of_a = ParseCall(a[i]), of_b = ParseCall(b[i]);
    difference.is_other_call = of_a.name != of_b.name;
    if (!difference.is_other_call) {
      difference.arguments = Compare(of_a.arguments, of_b.arguments, of_a.name);
    }
    break;
  }
  return difference;
}

}  // namespace opguard::analysis
