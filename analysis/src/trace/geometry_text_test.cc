#include "geometry_text.h"

#include <doctest/doctest.h>

#include <limits>

namespace opguard::analysis {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST_CASE("ParseIntList reads the lists that capture writes") {
  CHECK(ParseIntList("[]") == Numbers{});
  CHECK(ParseIntList("[7]") == Numbers{7});
  CHECK(ParseIntList("[2, 3, -1]") == Numbers{2, 3, -1});
}

TEST_CASE("ParseIntList refuses everything else") {
  for (const char* text : {"", "[", "]", "2, 3", "[2, 3", "[a]", "[2,, 3]", "[2, ]", "[2; 3]",
                           "[99999999999999999999]", "[2 3]"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseIntList(text).has_value());
  }
}

TEST_CASE("NumelOf is the product, 1 for a scalar, nothing on overflow or a negative size") {
  CHECK(NumelOf({}) == 1);
  CHECK(NumelOf({2, 3, 4}) == 24);
  CHECK(NumelOf({5, 0}) == 0);
  CHECK_FALSE(NumelOf({-1}).has_value());
  CHECK_FALSE(NumelOf({std::numeric_limits<std::int64_t>::max(), 2}).has_value());
}

TEST_CASE("ItemBytes knows a dtype by its Python and its C++ name") {
  CHECK(ItemBytes("float32") == 4);
  CHECK(ItemBytes("torch.bfloat16") == 2);
  CHECK(ItemBytes("Long") == 8);
  CHECK(ItemBytes("complex128") == 16);
  CHECK(ItemBytes("unheard_of") == 0);
}

}  // namespace
}  // namespace opguard::analysis
