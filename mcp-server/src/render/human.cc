#include "render/human.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

namespace opguard::render {
namespace {

using mcp::Json;

std::string Inline(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "-";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool IsPlace(const Json& value) {
  return value.is_object() && value.contains("path") && value.contains("line") &&
         value.contains("function");
}

std::string Place(const Json& place) {
  std::string text =
      fmt::format("{}:{} in {}", place.at("path").get<std::string>(),
                  place.at("line").get<std::int64_t>(), place.at("function").get<std::string>());
  if (place.contains("frame_id")) text += "  " + place.at("frame_id").get<std::string>();
  if (place.contains("a") && IsPlace(place.at("a"))) text += "  (A: " + Place(place.at("a")) + ")";
  if (place.value("parts_here", false)) text += "  <- the sides part here";
  return text;
}

bool IsSourceLine(const Json& value) {
  return value.is_object() && value.contains("line") && value.contains("text");
}

bool Empty(const Json& value) {
  return value.is_null() || (value.is_structured() && value.empty()) || value == "";
}

std::string Item(const Json& value) {
  if (IsSourceLine(value)) {
    return fmt::format("{} {:5} | {}", value.value("target", false) ? ">" : " ",
                       value.at("line").get<std::int64_t>(), value.at("text").get<std::string>());
  }
  if (IsPlace(value)) return Place(value);
  if (!value.is_object()) return Inline(value);
  std::string text;
  for (const auto& [key, field] : value.items()) {
    if (Empty(field)) continue;
    if (!text.empty()) text += "  ";
    text += fmt::format("{}={}", key, IsPlace(field) ? Place(field) : Inline(field));
  }
  return text;
}

void Section(std::string& text, const std::string& key, const Json& value, int indent) {
  const std::string pad(static_cast<std::size_t>(indent), ' ');
  if (Empty(value)) return;
  if (IsPlace(value)) {
    text += fmt::format("{}{}: {}\n", pad, key, Place(value));
  } else if (value.is_object()) {
    text += fmt::format("{}{}:\n", pad, key);
    for (const auto& [name, field] : value.items()) Section(text, name, field, indent + 2);
  } else if (value.is_array()) {
    text += fmt::format("{}{}:\n", pad, key);
    for (const Json& item : value) text += fmt::format("{}  {}\n", pad, Item(item));
  } else {
    text += fmt::format("{}{}: {}\n", pad, key, Inline(value));
  }
}

std::string ShellWord(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("-_./:=,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Kebab(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// A suggested call as a command line; run_pair's command goes last, after `--`.
std::string Command(const Json& call) {
  static const std::set<std::string> positional{"pair_id", "tensor_id", "op_id", "frame_id"};
  const std::string tool = call.at("tool").get<std::string>();
  std::string text = "opguard-mcp " + Kebab(tool);
  std::string tail;
  for (const auto& [key, value] : call.at("arguments").items()) {
    const std::string option = "--" + Kebab(key);
    if (key == "command") {
      tail = " -- ";
      if (value.is_string()) {
        tail += value.get<std::string>();
      } else {
        for (const Json& word : value) tail += ShellWord(word.get<std::string>()) + " ";
      }
    } else if (positional.count(key) && tool != "run_pair") {
      text += " " + ShellWord(Inline(value));
    } else if (value.is_boolean()) {
      if (value.get<bool>()) text += " " + option;
    } else if (value.is_array()) {
      for (const Json& item : value) text += fmt::format(" {}={}", option, ShellWord(Inline(item)));
    } else if (value.is_object()) {
      for (const auto& [name, item] : value.items()) {
        text += fmt::format(" {} {}", option, ShellWord(name + "=" + Inline(item)));
      }
    } else {
      text += fmt::format(" {} {}", option, ShellWord(Inline(value)));
    }
  }
  return text + tail;
}

}  // namespace

std::string HumanText(const Json& answer) {
  std::string text = answer.value("summary", "") + "\n\n";
  static const std::set<std::string> apart{"status", "summary", "warnings",
                                           "next",   "lines",   "diff"};
  if (answer.contains("lines")) {
    for (const Json& line : answer.at("lines")) text += Item(line) + "\n";
    text += "\n";
  }
  if (answer.contains("diff") && !answer.at("diff").empty()) {
    text += "A (-) against B (+):\n";
    for (const Json& line : answer.at("diff")) text += line.get<std::string>() + "\n";
    text += "\n";
  }
  for (const auto& [key, value] : answer.items()) {
    if (!apart.count(key)) Section(text, key, value, 0);
  }
  if (answer.contains("warnings") && !answer.at("warnings").empty()) {
    text += "\nwarnings:\n";
    for (const Json& warning : answer.at("warnings")) text += "  " + Inline(warning) + "\n";
  }
  if (answer.contains("next") && !answer.at("next").empty()) {
    text += "\nnext:\n";
    for (const Json& call : answer.at("next")) {
      text += fmt::format("  {}\n      {}\n", Command(call), call.at("why").get<std::string>());
    }
  }
  return text;
}

}  // namespace opguard::render
