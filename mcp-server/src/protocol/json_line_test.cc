#include "protocol/json_line.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

namespace opguard::mcp {
namespace {

std::string Nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST_CASE("ParseJsonLine builds what the library's own parser builds") {
  for (const char* text : {R"({"b":[1,-2,3.5,"x",null,true,{"c":{}}],"a":"\u00e9\ud83d\ude00"})",
                           "[]", "{}", "0", "\"s\"", " [ 1 , [ ] ] ", "18446744073709551615"}) {
    CAPTURE(text);
    const ParsedLine parsed = ParseJsonLine(text);
    CHECK(parsed.problem == JsonProblem::kNone);
    CHECK(parsed.value.dump() == Json::parse(text).dump());
  }
}

TEST_CASE("ParseJsonLine refuses what is no JSON text in UTF-8") {
  for (const std::string text :
       {"", "{", "[1,]", "{\"a\":}", "1 2", "nul", "\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"",
        "\"\\ud800\"", "'a'", "NaN", "1e999", "{\"a\":1}}", "\"a\nb\"", "\"\x01\""}) {
    CAPTURE(text);
    CHECK(ParseJsonLine(text).problem == JsonProblem::kSyntax);
  }
}

TEST_CASE("ParseJsonLine bounds the depth and still finds the id") {
  CHECK(ParseJsonLine(Nested(kMaxJsonDepth)).problem == JsonProblem::kNone);
  CHECK(ParseJsonLine(Nested(kMaxJsonDepth + 1)).problem == JsonProblem::kTooDeep);
  const ParsedLine deep = ParseJsonLine(R"({"params":)" + Nested(1000000) + R"(,"id":7})");
  CHECK(deep.problem == JsonProblem::kTooDeep);
  CHECK(deep.value["id"] == 7);
  CHECK(ParseJsonLine(std::string(1000000, '[')).problem == JsonProblem::kSyntax);
}

TEST_CASE("ParseJsonLine reports duplicate keys at any level") {
  CHECK(ParseJsonLine(R"({"a":1,"\u0061":2})").problem == JsonProblem::kDuplicateKey);
  CHECK(ParseJsonLine(R"([{"x":{"a":1,"b":{"a":1},"a":2}}])").problem ==
        JsonProblem::kDuplicateKey);
  CHECK(ParseJsonLine(R"([{"a":1},{"a":1}])").problem == JsonProblem::kNone);
  CHECK(ParseJsonLine(R"({"id":1,"id":1})").value["id"].is_null());
  CHECK(ParseJsonLine(R"({"id":1,"x":{"id":1,"id":2}})").value["id"] == 1);
}

// Quadratic behaviour would take minutes here.
TEST_CASE("ParseJsonLine takes linear time for an object of many members") {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += "\"key" + std::to_string(i) + "\":0,";
  text += "\"id\":1}";
  const auto start = std::chrono::steady_clock::now();
  CHECK(ParseJsonLine(text).value.size() == 200001);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("DumpJsonLine writes one line whatever is in it") {
  const std::string line = DumpJsonLine({{"a", "x\ny\xff"}, {"b", "\xe2\x80\xa8"}});
  CHECK(line == "{\"a\":\"x\\ny\xef\xbf\xbd\",\"b\":\"\xe2\x80\xa8\"}");
}

TEST_CASE("Excerpt cuts between code points") {
  CHECK(Excerpt("abc", 3) == "abc");
  CHECK(Excerpt("abcd", 3) == "abc...");
  CHECK(Excerpt("ab\xc3\xa9", 3) == "ab...");
}

}  // namespace
}  // namespace opguard::mcp
