#include "transport/line_splitter.h"

#include <doctest/doctest.h>

#include <vector>

namespace opguard::mcp {
namespace {

struct Recorder {
  std::vector<std::string> seen;
  LineSplitter splitter{8, [this](std::string_view line) { seen.emplace_back(line); },
                        [this] { seen.emplace_back("<oversize>"); }};
};

using Lines = std::vector<std::string>;

TEST_CASE("LineSplitter gives the same lines however the bytes come") {
  const std::string text("one\n\ntwo\r\n12345678\n123456789\nthree\n123456789012\nlast");
  const Lines expected = {"one",        "",      "two\r",      "12345678",
                          "<oversize>", "three", "<oversize>", "last"};
  for (std::size_t step = 1; step <= text.size(); ++step) {
    CAPTURE(step);
    Recorder recorder;
    for (std::size_t at = 0; at < text.size(); at += step) {
      recorder.splitter.Feed(std::string_view(text).substr(at, step));
    }
    recorder.splitter.Finish();
    CHECK(recorder.seen == expected);
  }
}

TEST_CASE("LineSplitter reports an oversize line before it ends, once") {
  Recorder recorder;
  recorder.splitter.Feed("123456789");
  CHECK(recorder.seen == Lines{"<oversize>"});
  recorder.splitter.Feed("123456789");
  recorder.splitter.Finish();
  CHECK(recorder.seen == Lines{"<oversize>"});
}

TEST_CASE("LineSplitter has no line after the last newline") {
  Recorder recorder;
  recorder.splitter.Feed("a\n");
  recorder.splitter.Finish();
  CHECK(recorder.seen == Lines{"a"});
}

}  // namespace
}  // namespace opguard::mcp
