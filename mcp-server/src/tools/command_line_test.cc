#include "tools/command_line.h"

#include <doctest/doctest.h>

using opguard::ErrorCode;
using opguard::tools::SplitCommand;
using Words = std::vector<std::string>;

TEST_CASE("SplitCommand follows the shell's quoting rules") {
  CHECK(*SplitCommand("python train.py --lr 0.1") == Words{"python", "train.py", "--lr", "0.1"});
  CHECK(*SplitCommand("a 'b c' \"d e\" f\\ g") == Words{"a", "b c", "d e", "f g"});
  CHECK(*SplitCommand("x''y \"\" ''") == Words{"xy", "", ""});
  CHECK(*SplitCommand(R"("a\"b\\c\d" '\n')") == Words{"a\"b\\c\\d", "\\n"});
  CHECK(*SplitCommand("  a\t b  ") == Words{"a", "b"});
  CHECK(*SplitCommand("sh -c 'a | b > c'") == Words{"sh", "-c", "a | b > c"});
}

TEST_CASE("SplitCommand refuses what would need a shell") {
  for (const char* command : {"a | b", "a; b", "a > b", "a && b", "(a)", "a\nb"}) {
    const auto words = SplitCommand(command);
    REQUIRE_FALSE(words);
    CHECK(words.error().code == ErrorCode::kInvalidArgument);
    CHECK(words.error().fix.find("sh -c") != std::string::npos);
  }
}

TEST_CASE("SplitCommand refuses open quotes and nothing") {
  for (const char* command : {"", "   ", "'a", "\"a", "a\\"}) {
    const auto words = SplitCommand(command);
    REQUIRE_FALSE(words);
    CHECK(words.error().code == ErrorCode::kInvalidArgument);
  }
}
