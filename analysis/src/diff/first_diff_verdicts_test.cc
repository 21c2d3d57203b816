// One case for each verdict on a matched op, with the wrong answers that tempt.
#include "diff_test_support.h"

namespace opguard::analysis {
namespace {

using testing::Phase;

// Loaded data, two linear layers, a loss. `hidden`, `logits`: what the ops gave.
TraceBuilder Forward(const std::string& hidden = "hidden", const std::string& logits = "logits") {
  TraceBuilder t;
  t.Step().Phase(Phase::kForward).Module("fc1", "Linear");
  t.Op("aten::linear").In(Tensor("x")).In(Tensor("w1"));
  t.Out(Tensor("hidden").Value(hidden));
  t.Module("fc2", "Linear");
  t.Op("aten::linear").In(Tensor("hidden").Value(hidden)).In(Tensor("w2"));
  t.Out(Tensor("logits").Value(logits));
  t.Module("loss", "Loss");
  t.Op("aten::mse_loss").In(Tensor("logits").Value(logits)).In(Tensor("y"));
  t.Arg("reduction", "1").Out(Tensor("loss", {}).Value("loss of " + logits));
  return t;
}

TEST_CASE("FirstDiff names the op whose outputs differ on equal inputs, not its receivers") {
  const Judged judged = JudgeBothWays(Forward(), Forward("other hidden", "other logits"));
  CheckDiverged(judged, Verdict::kOrigin, "aten::linear");
  CHECK(judged.diff.op.module == "fc1");
  CHECK(judged.diff.op.module_class == "Linear");
  CHECK(judged.diff.op.seq_a == 1);
  CHECK(judged.diff.inputs_equal);
  CHECK(judged.diff.certainty == Certainty::kCertain);
  REQUIRE(judged.diff.differing.size() == 1);
  CHECK(judged.diff.differing[0].slot == "out0");
  CHECK(judged.diff.differing[0].what == "value");
  CHECK(judged.diff.receivers == 2);
  CHECK(judged.diff.equal_before.ops == 0);
  CHECK_FALSE(judged.diff.has_last_equal);
  CHECK(judged.StateAt(0) == RowState::kDiffers);
  CHECK(judged.StateAt(1) == RowState::kReceiver);
  CHECK(judged.StateAt(2) == RowState::kReceiver);
}

TEST_CASE("FirstDiff counts what is equal before the difference") {
  const Judged judged = JudgeBothWays(Forward(), Forward("hidden", "other logits"));
  CheckDiverged(judged, Verdict::kOrigin, "aten::linear");
  CHECK(judged.diff.op.module == "fc2");
  CHECK(judged.diff.equal_before.ops == 1);
  CHECK(judged.diff.equal_before.matmuls == 1);
  REQUIRE(judged.diff.has_last_equal);
  CHECK(judged.diff.last_equal.seq_a == 1);
  CHECK(judged.StateAt(0) == RowState::kEqual);
}

TEST_CASE("FirstDiff counts collectives before the difference") {
  const auto side = [](const std::string& result) {
    TraceBuilder t;
    t.Op("c10d::allreduce_").InList({Tensor("g")}).Mut(0, Tensor("g").Value("sum"), 0);
    t.Op("aten::mm").In(Tensor("g").Value("sum")).In(Tensor("w")).Out(Tensor("y").Value(result));
    return t;
  };
  CHECK(JudgeBothWays(side("1"), side("2")).diff.equal_before.collectives == 1);
}

TEST_CASE("FirstDiff reports a scalar argument with both values") {
  const auto side = [](const std::string& rate) {
    TraceBuilder t = Forward();
    t.Phase(Phase::kOptimizer).NoModule();
    t.Op("aten::add_.Tensor").In(Tensor("w1")).In(Tensor("g1")).Arg("alpha", rate);
    t.Mut(0, Tensor("w1").Value("w1 after " + rate));
    t.Op("aten::linear").In(Tensor("x")).In(Tensor("w1").Value("w1 after " + rate));
    t.Out(Tensor("h2").Value("h2 " + rate));
    return t;
  };
  const Judged judged = JudgeBothWays(side("-0.1"), side("-0.2"));
  CheckDiverged(judged, Verdict::kScalarArg, "aten::add_.Tensor");
  REQUIRE(judged.diff.arguments.size() == 1);
  CHECK(judged.diff.arguments[0].name == "alpha");
  CHECK(judged.diff.arguments[0].a == "-0.1");
  CHECK(judged.diff.arguments[0].b == "-0.2");
  CHECK(judged.diff.inputs_equal);
  CHECK(judged.diff.receivers == 1);
}

TEST_CASE("FirstDiff finds a scalar argument of a call inside the op") {
  const auto side = [](const std::string& scale) {
    TraceBuilder t;
    t.Op("aten::attention").In(Tensor("q")).In(Tensor("k"));
    t.Inside("aten::matmul()").Inside(" aten::mul.Scalar(other=" + scale + ")");
    t.Out(Tensor("o").Value("o" + scale));
    return t;
  };
  const Judged judged = JudgeBothWays(side("0.125"), side("0.25"));
  CheckDiverged(judged, Verdict::kScalarArg, "aten::attention");
  REQUIRE(judged.diff.arguments.size() == 1);
  CHECK(judged.diff.arguments[0].where == "aten::mul.Scalar");
  CHECK(judged.diff.arguments[0].b == "0.25");
  CHECK(judged.diff.inside_marked == 1);
}

TEST_CASE("FirstDiff calls another result of a view's arguments by the view, not by its reader") {
  const auto side = [](std::int64_t row) {
    TraceBuilder t;
    t.Op("aten::mm").In(Tensor("a")).In(Tensor("b")).Out(Tensor("m"));
    t.Op("aten::select.int").Traits(store::kMayView).In(Tensor("m")).Arg("dim", "0");
    t.Arg("index", std::to_string(row));
    const Tensor part = Tensor("m", {4}).Offset(row * 4).Value("row " + std::to_string(row));
    t.Out(part.View());
    t.Op("aten::sum").In(part).Out(Tensor("s", {}).Value("sum " + std::to_string(row)));
    return t;
  };
  const Judged judged = JudgeBothWays(side(1), side(2));
  CheckDiverged(judged, Verdict::kScalarArg, "aten::select.int");
  REQUIRE(judged.diff.arguments.size() == 1);
  CHECK(judged.diff.arguments[0].name == "index");
  CHECK(judged.diff.equal_before.matmuls == 1);
}

TEST_CASE("FirstDiff passes over an argument that changes nothing") {
  const auto side = [](const std::string& eps) {
    TraceBuilder t;
    t.Op("aten::layer_norm").In(Tensor("x")).Arg("eps", eps).Out(Tensor("y"));
    return t;
  };
  const Judged judged = JudgeBothWays(side("1e-05"), side("1e-06"));
  CheckIdentical(judged);
  CHECK(judged.HasPassedOver(Verdict::kScalarArg));
}

TEST_CASE("FirstDiff reports a cast that only one side makes as dtype, at the cast") {
  TraceBuilder a, b;
  for (TraceBuilder* t : {&a, &b}) {
    t->Op("aten::softmax.int").In(Tensor("x")).Arg("dim", "-1").Out(Tensor("p"));
  }
  a.Op("aten::mm").In(Tensor("p")).In(Tensor("w")).Out(Tensor("y"));
  b.Op("aten::_to_copy").In(Tensor("p")).Arg("dtype", "bfloat16");
  b.Out(Tensor("q").Dtype("bfloat16"));
  b.Op("aten::mm").In(Tensor("q").Dtype("bfloat16")).In(Tensor("w"));
  b.Out(Tensor("y").Value("y16").Dtype("bfloat16"));
  const Judged judged = JudgeBothWays(a, b);
  CheckDiverged(judged, Verdict::kDtype, "aten::_to_copy");
  CHECK(judged.diff.extra_total == 1);
  CHECK(judged.diff.equal_before.ops == 1);
}

TEST_CASE("FirstDiff reports dtype where the same op gives another one") {
  const auto side = [](const std::string& dtype) {
    TraceBuilder t;
    t.Op("aten::to.dtype").In(Tensor("x")).Arg("dtype", dtype);
    t.Out(Tensor("y").Value("x as " + dtype).Dtype(dtype));
    return t;
  };
  const Judged judged = JudgeBothWays(side("float16"), side("bfloat16"));
  CheckDiverged(judged, Verdict::kDtype, "aten::to.dtype");
  CHECK(judged.diff.differing.at(0).what == "dtype");
  CHECK(judged.diff.arguments.size() == 1);
}

TEST_CASE("FirstDiff reports loaded parameters of another type as dtype") {
  const auto side = [](const std::string& dtype) {
    TraceBuilder t;
    t.Op("aten::linear").In(Tensor("x")).In(Tensor("w").Value("w" + dtype).Dtype(dtype));
    t.Out(Tensor("y").Value("y" + dtype));
    return t;
  };
  CheckDiverged(JudgeBothWays(side("float32"), side("bfloat16")), Verdict::kDtype, "aten::linear");
}

TEST_CASE("FirstDiff reports another shape from equal inputs") {
  const auto side = [](std::int64_t found) {
    TraceBuilder t;
    t.Op("aten::nonzero").In(Tensor("mask"));
    t.Out(Tensor("rows", {found, 1}).Value(std::to_string(found)));
    return t;
  };
  const Judged judged = JudgeBothWays(side(3), side(4));
  CheckDiverged(judged, Verdict::kShape, "aten::nonzero");
  CHECK(judged.diff.differing.at(0).what == "shape");
}

TEST_CASE("FirstDiff traces a value difference back to the op that brought other strides") {
  const auto side = [](bool is_transposed) {
    TraceBuilder t;
    Tensor weight = Tensor("w", {4, 4});
    if (is_transposed) weight = weight.Strides({1, 4});
    t.Op("aten::_make_weight").In(Tensor("seed")).Out(weight);
    t.Op("aten::relu").In(Tensor("x")).Out(Tensor("h"));
    t.Op("aten::mm").In(Tensor("h")).In(weight);
    t.Out(Tensor("y").Value(is_transposed ? "y'" : "y"));
    return t;
  };
  const Judged judged = JudgeBothWays(side(false), side(true));
  CheckDiverged(judged, Verdict::kLayout, "aten::_make_weight");
  CHECK(judged.diff.differing.at(0).what == "strides");
  CHECK(judged.diff.certainty == Certainty::kLikely);
}

TEST_CASE("FirstDiff passes over other strides that lead to no other value") {
  const auto side = [](bool is_transposed) {
    TraceBuilder t;
    Tensor x = Tensor("x", {4, 4});
    if (is_transposed) x = x.Strides({1, 4});
    t.Op("aten::relu").In(x).Out(x.In("h").Value("h"));
    t.Op("aten::sum").In(x.In("h").Value("h")).Out(Tensor("s", {}));
    return t;
  };
  const Judged judged = JudgeBothWays(side(false), side(true));
  CheckIdentical(judged);
  CHECK(judged.HasPassedOver(Verdict::kLayout));
}

TEST_CASE("FirstDiff tells the same elements in another order from other elements") {
  const auto side = [](const Tensor& sorted) {
    TraceBuilder t;
    t.Op("aten::_sort").In(Tensor("keys")).Out(sorted);
    return t;
  };
  const Tensor order("order");
  const Judged judged = JudgeBothWays(side(order), side(order.Permuted("ties")));
  CheckDiverged(judged, Verdict::kPermuted, "aten::_sort");
  CHECK(judged.diff.differing.at(0).what == "order");
  CheckDiverged(JudgeBothWays(side(order), side(order.Value("other"))), Verdict::kOrigin,
                "aten::_sort");
}

TEST_CASE("FirstDiff reports different loaded data as input_data, not the op that reads them") {
  const auto side = [](const std::string& pixels) {
    TraceBuilder t;
    t.Step().Phase(Phase::kForward).Module("conv");
    t.Op("aten::conv2d").In(Tensor("image").Value(pixels)).In(Tensor("kernel"));
    t.Out(Tensor("y").Value("conv " + pixels));
    return t;
  };
  const Judged judged = JudgeBothWays(side("raw"), side("resized"));
  CheckDiverged(judged, Verdict::kInputData, "aten::conv2d");
  CHECK_FALSE(judged.diff.inputs_equal);
  REQUIRE(judged.diff.differing.size() == 1);
  CHECK(judged.diff.differing[0].slot == "in0");
}

TEST_CASE("FirstDiff takes data copied into new memory unseen as input_data") {
  // torch.tensor(list): `empty`, a fill that no operator makes, then the first reader.
  const auto side = [](const std::string& data, const std::string& garbage) {
    TraceBuilder t;
    t.Op("aten::empty.memory_format").Out(Tensor("d").Value(garbage));
    t.Op("aten::lift_fresh").In(Tensor("d").Value(data)).Out(Tensor("d").View());
    t.Op("aten::mul.Tensor").In(Tensor("d").Value(data)).In(Tensor("w"));
    t.Out(Tensor("y").Value("y" + data));
    return t;
  };
  CheckDiverged(JudgeBothWays(side("1", "g1"), side("2", "g2")), Verdict::kInputData,
                "aten::mul.Tensor");
  CheckIdentical(JudgeBothWays(side("1", "g1"), side("1", "g2")));
}

TEST_CASE("FirstDiff reports memory that is read as it was allocated as uninitialised") {
  const auto side = [](const std::string& garbage) {
    TraceBuilder t;
    t.Op("aten::empty.memory_format").Out(Tensor("buffer").Value(garbage));
    t.Op("aten::add.Tensor").In(Tensor("buffer").Value(garbage)).In(Tensor("x"));
    t.Out(Tensor("y").Value("y" + garbage));
    return t;
  };
  const Judged judged = JudgeBothWays(side("g1"), side("g2"));
  CheckDiverged(judged, Verdict::kUninitialised, "aten::add.Tensor");
  CHECK(judged.diff.differing.at(0).slot == "in0");
}

TEST_CASE("FirstDiff reports a write that no op made as external_write") {
  const auto side = [](const std::string& seen) {
    TraceBuilder t;
    t.Op("aten::mm").In(Tensor("a")).In(Tensor("b")).Out(Tensor("m"));
    t.Op("aten::relu").In(Tensor("m").Value(seen)).Out(Tensor("r").Value("r" + seen));
    return t;
  };
  const Judged judged = JudgeBothWays(side("m"), side("overwritten"));
  CheckDiverged(judged, Verdict::kExternalWrite, "aten::relu");
  CHECK(judged.diff.certainty == Certainty::kLikely);
  CHECK_FALSE(judged.diff.inputs_equal);
}

TEST_CASE("FirstDiff reports loaded memory that changes on one side only as external_write") {
  const auto side = [](const std::string& later) {
    TraceBuilder t;
    t.Op("aten::relu").In(Tensor("x")).Out(Tensor("r"));
    t.Op("aten::neg").In(Tensor("x").Value(later)).Out(Tensor("n").Value("n" + later));
    return t;
  };
  CheckDiverged(JudgeBothWays(side("x"), side("changed")), Verdict::kExternalWrite, "aten::neg");
}

TEST_CASE("FirstDiff does not trust an accusation of an op that cannot differ by itself") {
  const auto side = [](const std::string& out) {
    TraceBuilder t;
    t.Op("aten::add.Tensor").Traits(store::kPointwise).In(Tensor("x")).In(Tensor("y"));
    t.Out(Tensor("z").Value(out));
    return t;
  };
  const Judged judged = JudgeBothWays(side("z1"), side("z2"));
  CheckDiverged(judged, Verdict::kOrigin, "aten::add.Tensor");
  CHECK(judged.diff.certainty == Certainty::kPossible);
}

TEST_CASE("FirstDiff is less certain where an input was trusted or not readable") {
  const auto side = [](const Tensor& weight, const std::string& out) {
    TraceBuilder t;
    t.Op("aten::mm").In(Tensor("x")).In(weight).Out(Tensor("y").Value(out));
    return t;
  };
  const Tensor weight("w");
  CHECK(JudgeBothWays(side(weight.Trusted(), "1"), side(weight.Trusted(), "2")).diff.certainty ==
        Certainty::kLikely);
  CHECK(JudgeBothWays(side(weight.Unreadable(), "1"), side(weight.Unreadable(), "2"))
            .diff.certainty == Certainty::kPossible);
}

TEST_CASE("FirstDiff explains an op that is known to be nondeterministic, apart from the facts") {
  const auto side = [](const std::string& out) {
    TraceBuilder t;
    t.Op("aten::index_put_").In(Tensor("bins")).In(Tensor("index")).In(Tensor("values"));
    t.Arg("accumulate", "True").Mut(0, Tensor("bins").Value(out));
    return t;
  };
  const Judged judged = JudgeBothWays(side("1"), side("2"));
  CheckDiverged(judged, Verdict::kOrigin, "aten::index_put_");
  CHECK(judged.diff.hypothesis.find("pytorch#51366") != std::string::npos);
  CHECK(judged.diff.differing.at(0).slot == "mut0");
}

TEST_CASE("FirstDiff names the argument of a tensor from the signature") {
  const auto side = [](const std::string& x) {
    TraceBuilder t;
    t.Op("aten::mm").Signature("aten::mm(Tensor self, Tensor mat2) -> Tensor");
    t.In(Tensor("x").Value(x)).In(Tensor("w")).Out(Tensor("y").Value(x + "y"));
    return t;
  };
  CHECK(JudgeBothWays(side("1"), side("2")).diff.differing.at(0).argument == "self");
}

}  // namespace
}  // namespace opguard::analysis
