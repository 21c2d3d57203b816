#include "tools/side_reader.h"

#include <doctest/doctest.h>

using namespace opguard;
using namespace opguard::tools;

namespace {

store::FrameRow Frame(const char* path) { return {1, path, 10, "f", 0}; }

}  // namespace

TEST_CASE("ArgumentName finds the argument at a position of a signature") {
  const std::string signature =
      "aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) "
      "-> "
      "Tensor(a!)";
  CHECK(ArgumentName(signature, {1, "mut", 0, -1}) == "self");
  CHECK(ArgumentName(signature, {1, "in", 1, 3}) == "indices");
  CHECK(ArgumentName(signature, {1, "in", 2, -1}) == "values");
  CHECK(ArgumentName(signature, {1, "out", 0, -1}).empty());
  const std::string keyword =
      "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)";
  CHECK(ArgumentName(keyword, {1, "in", 3, -1}) == "out");
  CHECK(ArgumentName("x(Tensor a, int[2] d=[1, 2], Tensor? b=None) -> ()", {1, "in", 2, -1}) ==
        "b");
  CHECK(ArgumentName("aten::f() -> Tensor", {1, "in", 0, -1}).empty());
  CHECK(ArgumentName("", {1, "in", 0, -1}).empty());
}

TEST_CASE("torch and the standard library are machinery, other packages and user code are not") {
  CHECK(IsInternalFrame(Frame("/v/lib/python3.11/site-packages/torch/nn/modules/module.py")));
  CHECK(IsInternalFrame(Frame("/usr/lib/python3.11/runpy.py")));
  CHECK(IsInternalFrame(Frame("<frozen runpy>")));
  CHECK_FALSE(IsInternalFrame(Frame("<string>")));
  CHECK_FALSE(IsInternalFrame(Frame("/v/lib/python3.11/site-packages/transformers/trainer.py")));
  CHECK(IsInstalledFrame(Frame("/v/lib/python3.11/site-packages/transformers/trainer.py")));
  CHECK_FALSE(IsInternalFrame(Frame("/home/u/torchproject/train.py")));
}

TEST_CASE("the shown frame is the innermost that is not machinery") {
  const std::vector<store::FrameRow> frames{
      Frame("/v/lib/python3.11/site-packages/torch/nn/functional.py"),
      Frame("/v/lib/python3.11/site-packages/transformers/model.py"), Frame("/home/u/train.py")};
  CHECK(ShownFrame(frames) == 1);
  CHECK(UserFrame(frames) == 2);
  CHECK(ShownFrame({frames[0]}) == 0);
  CHECK(UserFrame({frames[0]}) == -1);
  CHECK(ShownFrame({}) == -1);
}

TEST_CASE("a damaged stack cannot loop for ever") {
  store::TraceFacts facts;
  facts.frames.resize(2);
  facts.stacks = {{0, 0, 0}, {1, 2, 1}, {2, 1, 1}};
  CHECK(FramesOf(facts, 1).size() == 1000);
}
