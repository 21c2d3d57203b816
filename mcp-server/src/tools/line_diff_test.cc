#include "render/line_diff.h"

#include <doctest/doctest.h>

#include "render/numbers.h"

using opguard::render::LineDiff;
using Lines = std::vector<std::string>;

TEST_CASE("LineDiff keeps common lines and marks the others") {
  CHECK(LineDiff({"a", "b", "c"}, {"a", "x", "c"}) == Lines{" a", "-b", "+x", " c"});
  CHECK(LineDiff({}, {"a"}) == Lines{"+a"});
  CHECK(LineDiff({"a"}, {}) == Lines{"-a"});
  CHECK(LineDiff({"a", "b"}, {"a", "b"}).empty());
}

TEST_CASE("LineDiff rebuilds both texts") {
  const Lines a{"1", "2", "3", "4", "2", "5"}, b{"2", "3", "9", "2", "2", "5", "6"};
  Lines left, right;
  for (const std::string& line : LineDiff(a, b)) {
    if (line[0] != '+') left.push_back(line.substr(1));
    if (line[0] != '-') right.push_back(line.substr(1));
  }
  CHECK(left == a);
  CHECK(right == b);
}

TEST_CASE("numbers are grouped by thousands and nouns counted") {
  using namespace opguard::render;
  CHECK(Grouped(0) == "0");
  CHECK(Grouped(999) == "999");
  CHECK(Grouped(1000) == "1,000");
  CHECK(Grouped(1234567) == "1,234,567");
  CHECK(Plural(1, "op") == "1 op");
  CHECK(Plural(8214, "op") == "8,214 ops");
}
