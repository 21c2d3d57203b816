#include "runner/bounded_log.h"

#include <doctest/doctest.h>

#include <string>

#include "runner/files.h"

namespace opguard::runner {
namespace {

std::string Numbers(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) text += std::to_string(100000 + i) + "\n";
  return text;
}

std::string Logged(const std::string& text, const LogLimits& limits, std::size_t piece) {
  const auto folder = TemporaryFolder::Make();
  BoundedLog log;
  REQUIRE(log.Open(folder->path() + "/log", limits));
  for (std::size_t at = 0; at < text.size(); at += piece) log.Append(text.substr(at, piece));
  log.Close();
  return ReadText(folder->path() + "/log");
}

TEST_CASE("BoundedLog keeps everything up to head plus tail bytes") {
  const std::string text = Numbers(0, 300);  // 2100 bytes
  CHECK(Logged(text, {700, 1400}, 13) == text);
  CHECK(Logged("", {700, 1400}, 13).empty());
}

TEST_CASE("BoundedLog keeps beginning and end and says how much it left out") {
  for (const std::size_t piece : {1, 7, 500, 100000}) {
    CAPTURE(piece);
    const std::string text = Numbers(0, 10000);  // 70000 bytes
    const std::string log = Logged(text, {700, 1400}, piece);
    const std::string mark =
        "\n[opguard: " + std::to_string(70000 - 2100) + " bytes left out here]\n";
    CHECK(log == Numbers(0, 100) + mark + Numbers(9800, 10000));
  }
}

TEST_CASE("BoundedLog reports a file that cannot be made") {
  BoundedLog log;
  CHECK_FALSE(log.Open("/nonexistent/folder/log", {}));
  log.Append("ignored");
}

}  // namespace
}  // namespace opguard::runner
