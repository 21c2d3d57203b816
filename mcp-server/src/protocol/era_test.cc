#include "protocol/era.h"

#include <doctest/doctest.h>

#include <string>

namespace opguard::mcp {
namespace {

int CodeOf(const std::string& params) {
  const auto envelope = RouteRequest("tools/list", Json::parse(params), true);
  return envelope ? 0 : envelope.error().code;
}

constexpr char kMeta[] = R"({"_meta":{"io.modelcontextprotocol/protocolVersion":)";

TEST_CASE("RouteRequest requires the modern keys, in the order of the specification") {
  CHECK(CodeOf(std::string(kMeta) + R"("2026-07-28"}})") == -32602);
  CHECK(CodeOf(std::string(kMeta) + R"("2099-01-01"}})") == -32602);
  const std::string capabilities = R"(,"io.modelcontextprotocol/clientCapabilities":{})";
  CHECK(CodeOf(std::string(kMeta) + R"("2026-07-28")" + capabilities + "}}") == 0);
  CHECK(CodeOf(std::string(kMeta) + "5" + capabilities + "}}") == -32602);
  CHECK(CodeOf(std::string(kMeta) + "null" + capabilities + "}}") == -32602);
  CHECK(CodeOf(std::string(kMeta) + R"("2099-01-01")" + capabilities + "}}") == -32022);
  CHECK(CodeOf(std::string(kMeta) + R"("2025-11-25")" + capabilities + "}}") == -32022);
  const std::string level = R"(,"io.modelcontextprotocol/logLevel":)";
  CHECK(CodeOf(std::string(kMeta) + R"("2026-07-28")" + capabilities + level + R"("loud"}})") ==
        -32602);
  CHECK(CodeOf(std::string(kMeta) + R"("2026-07-28")" + capabilities + level + R"("debug"}})") ==
        0);
}

TEST_CASE("RouteRequest tells which versions are supported") {
  const auto envelope =
      RouteRequest("server/discover",
                   Json::parse(std::string(kMeta) +
                               R"("2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}})"),
                   false);
  REQUIRE_FALSE(envelope.has_value());
  CHECK(envelope.error().data ==
        Json::parse(R"({"supported":["2026-07-28"],"requested":"2099-01-01"})"));
}

TEST_CASE("RouteRequest reads progress tokens and ignores unknown _meta") {
  const auto token = [](const char* text) {
    const Json params =
        Json::parse(std::string(R"({"_meta":{"x/y":[],"progressToken":)") + text + "}}");
    return RouteRequest("tools/call", params, true);
  };
  CHECK(token("0")->progress_token == 0);
  CHECK(token("\"0\"")->progress_token == "0");
  CHECK(token("0")->era == Era::kLegacy);
  CHECK_FALSE(token("1.5").has_value());
  CHECK_FALSE(token("null").has_value());
}

TEST_CASE("RouteRequest refuses params and _meta that are no objects") {
  CHECK(CodeOf("[]") == -32602);
  CHECK(CodeOf("5") == -32602);
  CHECK(CodeOf(R"({"_meta":5})") == -32602);
  CHECK(CodeOf("null") == 0);
}

}  // namespace
}  // namespace opguard::mcp
