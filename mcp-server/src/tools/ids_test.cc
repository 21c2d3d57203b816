#include "tools/ids.h"

#include <doctest/doctest.h>

#include "tools/nearest.h"

using namespace opguard::tools;

TEST_CASE("ids parse back from their text") {
  const OpId op{3, 1842};
  CHECK(op.Text() == "op:3.1842");
  CHECK(ParseOpId("op:3.1842")->index == 1842);
  CHECK(ParseOpId("op:3.1842")->rank == 3);
  for (const char* slot : {"in0", "in12[3]", "out0", "mut2"}) {
    const TensorId tensor{op, slot};
    REQUIRE(ParseTensorId(tensor.Text()));
    CHECK(ParseTensorId(tensor.Text())->slot == slot);
    CHECK(ParseTensorId(tensor.Text())->op.index == 1842);
  }
  CHECK(ParseFrameId(FrameId{op, 5}.Text())->depth == 5);
}

TEST_CASE("an id of another kind is answered with its kind and tool") {
  const auto op = ParseOpId("tensor:0.1842.out0");
  REQUIRE_FALSE(op);
  CHECK(op.error().message.find("is a tensor id") != std::string::npos);
  CHECK(op.error().fix.find("tensor_compare") != std::string::npos);
  CHECK(ParseTensorId("frame:0.1.2").error().fix.find("source_at") != std::string::npos);
  CHECK(ParseFrameId("op:0.1").error().fix.find("call_stack") != std::string::npos);
}

TEST_CASE("damaged ids are refused") {
  for (const char* text : {"", "op", "op:", "op:1", "op:a.b", "op:1.2.3", "op:-1.2", "op:1.2 ",
                           "op:1.99999999999999999999", "op:99999999999.1"}) {
    CHECK_FALSE(ParseOpId(text));
  }
  for (const char* text : {"tensor:0.1", "tensor:0.1.", "tensor:0.1.foo0", "tensor:0.1.in",
                           "tensor:0.1.in1[", "tensor:0.1.in1[x]", "tensor:0.1.in1[2]x"}) {
    CHECK_FALSE(ParseTensorId(text));
  }
  for (const char* text : {"frame:0.1", "frame:0.1.", "frame:0.1.x", "frame:0.1.2.3"}) {
    CHECK_FALSE(ParseFrameId(text));
  }
}

TEST_CASE("Nearest orders candidates by edit distance") {
  CHECK(Nearest("pairid", {"steps", "pair_id", "command"}, 1).front() == "pair_id");
  CHECK(Nearest("x", {}).empty());
}
