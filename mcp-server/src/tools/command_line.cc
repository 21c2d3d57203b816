#include "tools/command_line.h"

#include <fmt/format.h>

#include <cstring>

namespace opguard::tools {

Result<std::vector<std::string>> SplitCommand(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == '\'') {
      if (c == '\'') {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\\') {
      if (i + 1 == command.size()) {
        return Fail(ErrorCode::kInvalidArgument, "the command ends with a backslash.",
                    "quote it, or give the command as an array of strings");
      }
      const char next = command[++i];
      // Inside double quotes a backslash only escapes these (POSIX shell, 2.2.3).
      if (quote == '"' && !std::strchr("$`\"\\\n", next)) word += c;
      if (next != '\n') word += next;
      in_word = true;
    } else if (quote == '"') {
      if (c == '"') {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else if (std::strchr("|&;<>()\n", c)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("the command holds the shell operator '{}', and no shell runs it.",
                              c == '\n' ? std::string("line break") : std::string(1, c)),
                  "quote it if it is data, or use sh -c '...'");
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the command has an open {} quote.", quote),
                "close the quote, or give the command as an array of strings");
  }
  if (in_word) words.push_back(std::move(word));
  if (words.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "the command is empty.",
                "give a command such as 'python train.py'");
  }
  return words;
}

}  // namespace opguard::tools
