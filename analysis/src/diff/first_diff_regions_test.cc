// Ops that one side only has: regions that reconverge are passed over, others are named.
#include <fmt/format.h>

#include "diff_test_support.h"

namespace opguard::analysis {
namespace {

using testing::Phase;

TEST_CASE("FirstDiff names a missing division, not the op that reads its value") {
  const auto side = [](bool divides) {
    TraceBuilder t;
    t.Op("aten::mm").In(Tensor("q")).In(Tensor("k")).Out(Tensor("s"));
    if (divides) t.Op("aten::div.Tensor").In(Tensor("s")).Out(Tensor("d"));
    const Tensor scores = divides ? Tensor("d") : Tensor("s");
    t.Op("aten::softmax.int").In(scores).Arg("dim", "-1");
    t.Out(Tensor("p").Value("p of " + scores.storage));
    t.Op("aten::mm").In(Tensor("p").Value("p of " + scores.storage)).In(Tensor("v"));
    t.Out(Tensor("o").Value("o of " + scores.storage));
    return t;
  };
  const Judged judged = JudgeBothWays(side(true), side(false));
  CheckDiverged(judged, Verdict::kStructural, "aten::div.Tensor");
  CHECK(judged.diff.op.b == -1);
  REQUIRE(judged.diff.missing.size() == 1);
  CHECK(judged.diff.missing[0].name == "aten::div.Tensor");
  CHECK(judged.diff.extra.empty());
  CHECK(judged.diff.differing.at(0).what == "missing on B");
  CHECK(judged.diff.reason.find("aten::softmax.int") != std::string::npos);
  CHECK(judged.diff.equal_before.matmuls == 1);
  CHECK(judged.diff.receivers == 2);
  CHECK(judged.StateAt(1) == RowState::kOnlyA);
  CHECK(judged.StateAt(2) == RowState::kReceiver);
}

TEST_CASE("FirstDiff names replaced ops side by side") {
  const auto side = [](bool is_fused) {
    TraceBuilder t;
    t.Op("aten::mm").In(Tensor("x")).In(Tensor("w")).Out(Tensor("h"));
    if (is_fused) {
      t.Op("aten::gelu").In(Tensor("h")).Out(Tensor("g").Value("fused"));
    } else {
      t.Op("aten::erf").In(Tensor("h")).Out(Tensor("e"));
      t.Op("aten::mul.Tensor").In(Tensor("h")).In(Tensor("e")).Out(Tensor("g").Value("parts"));
    }
    const Tensor g = Tensor("g").Value(is_fused ? "fused" : "parts");
    t.Op("aten::sum").In(g).Out(Tensor("s", {}).Value(is_fused ? "s1" : "s2"));
    return t;
  };
  const Judged judged = JudgePair(side(false), side(true));
  INFO(judged.diff.reason);
  CHECK(judged.diff.verdict == Verdict::kStructural);
  CHECK(judged.diff.missing_total == 2);
  CHECK(judged.diff.extra_total == 1);
  CHECK(judged.diff.op.name != "aten::sum");
  CHECK(JudgePair(side(true), side(false)).diff.verdict == Verdict::kStructural);
}

TEST_CASE("FirstDiff passes over a rewrite whose later values are equal and goes on") {
  const auto side = [](bool is_rewritten, const std::string& end) {
    TraceBuilder t;
    t.Op("aten::mm").In(Tensor("x")).In(Tensor("w")).Out(Tensor("h"));
    if (is_rewritten) {
      t.Op("aten::silu").In(Tensor("h")).Out(Tensor("a").Value("silu"));
    } else {
      t.Op("aten::sigmoid").In(Tensor("h")).Out(Tensor("e"));
      t.Op("aten::mul.Tensor").In(Tensor("h")).In(Tensor("e")).Out(Tensor("a").Value("silu"));
    }
    t.Op("aten::mm").In(Tensor("a").Value("silu")).In(Tensor("w2")).Out(Tensor("o").Value(end));
    return t;
  };
  const Judged equal = JudgeBothWays(side(false, "o"), side(true, "o"));
  CHECK(equal.diff.status == Status::kNoDifferenceInCoverage);
  REQUIRE(equal.diff.passed_over.size() == 1);
  CHECK(equal.diff.passed_over[0].kind == Verdict::kNone);
  CHECK(equal.diff.passed_over[0].rows == 3);
  CHECK(equal.StateAt(1) == RowState::kEquivalent);

  const Judged later = JudgeBothWays(side(false, "o"), side(true, "other"));
  CheckDiverged(later, Verdict::kOrigin, "aten::mm");
  CHECK(later.diff.equal_before.matmuls == 1);
  CHECK(later.diff.passed_over.size() == 1);
}

TEST_CASE("FirstDiff passes over matched ops inside a rewrite that reconverges") {
  // x * 4 / 2 against x * 2: the products are matched and differ, the result is equal.
  const auto side = [](bool is_long) {
    TraceBuilder t;
    t.Op("aten::mul.Tensor").In(Tensor("x")).Arg("other", is_long ? "4" : "2");
    t.Out(Tensor("m").Value(is_long ? "4x" : "2x"));
    if (is_long) {
      t.Op("aten::div.Tensor").In(Tensor("m").Value("4x")).Arg("other", "2");
      t.Out(Tensor("d").Value("2x"));
    }
    t.Op("aten::relu").In(is_long ? Tensor("d").Value("2x") : Tensor("m").Value("2x"));
    t.Out(Tensor("r"));
    return t;
  };
  const Judged judged = JudgeBothWays(side(false), side(true));
  CHECK(judged.diff.status == Status::kNoDifferenceInCoverage);
  CHECK(judged.diff.verdict == Verdict::kNone);
}

TEST_CASE("FirstDiff passes over an op on one side whose value nobody reads") {
  const auto side = [](bool logs) {
    TraceBuilder t;
    t.Op("aten::mm").In(Tensor("x")).In(Tensor("w")).Out(Tensor("y"));
    if (logs) {
      t.Op("aten::norm").In(Tensor("y")).Out(Tensor("n", {}));
      t.Op("aten::item").In(Tensor("n", {}));
    }
    t.Op("aten::sum").In(Tensor("y")).Out(Tensor("s", {}));
    return t;
  };
  const Judged judged = JudgeBothWays(side(false), side(true));
  CHECK(judged.diff.status == Status::kNoDifferenceInCoverage);
  CHECK(judged.diff.coverage.unaligned_b == 2);
  CHECK(judged.diff.passed_over.size() == 1);
}

// Two steps of a model whose gradients are accumulated into one tensor.
TraceBuilder Accumulating(bool zeroes) {
  TraceBuilder t;
  std::string grad = "0", weight = "w";
  for (const std::string step : {"1", "2"}) {
    t.Step().Phase(Phase::kOther).NoModule();
    if (zeroes) {
      t.Op("aten::zero_").In(Tensor("grad").Value(grad)).Mut(0, Tensor("grad").Value("0"));
      grad = std::string("0");
    }
    t.Phase(Phase::kForward).Module("fc", "Linear");
    t.Op("aten::linear").In(Tensor("x" + step)).In(Tensor("weight").Value(weight));
    t.Out(Tensor("y" + step).Value("y" + step + weight));
    t.Phase(Phase::kBackward).NoModule();
    t.Op("aten::mm").In(Tensor("x" + step)).In(Tensor("y" + step).Value("y" + step + weight));
    t.Out(Tensor("g" + step).Value("g" + step + weight));
    t.Op("aten::add_.Tensor").In(Tensor("grad").Value(grad));
    t.In(Tensor("g" + step).Value("g" + step + weight));
    grad = fmt::format("({}+{}{})", grad, step, weight);
    t.Mut(0, Tensor("grad").Value(grad));
    t.Phase(Phase::kOptimizer);
    t.Op("aten::add_.Tensor").In(Tensor("weight").Value(weight)).In(Tensor("grad").Value(grad));
    t.Arg("alpha", "-0.1");
    weight = fmt::format("({}-{})", weight, grad);
    t.Mut(0, Tensor("weight").Value(weight));
  }
  return t;
}

TEST_CASE("FirstDiff names a missing zero_grad, not the accumulation that reads the gradient") {
  const Judged judged = JudgeBothWays(Accumulating(true), Accumulating(false));
  CheckDiverged(judged, Verdict::kStructural, "aten::zero_");
  CHECK(judged.diff.op.step == 2);
  CHECK(judged.diff.op.phase == Phase::kOther);
  CHECK(judged.diff.missing_total == 1);
  CHECK(judged.diff.equal_before.matmuls == 2);
}

// Steps of forward and optimizer; the optimizer runs twice in step `twice`.
TraceBuilder Stepping(int steps, int twice) {
  TraceBuilder t;
  std::string weight = "w";
  for (int step = 1; step <= steps; ++step) {
    const std::string number = std::to_string(step);
    t.Step().Phase(Phase::kForward).Module("fc", "Linear");
    t.Op("aten::linear").In(Tensor("x" + number)).In(Tensor("weight").Value(weight));
    t.Out(Tensor("y" + number).Value("y" + number + weight));
    t.Phase(Phase::kBackward).NoModule();
    t.Op("aten::mm").In(Tensor("x" + number)).In(Tensor("y" + number).Value("y" + number + weight));
    const Tensor grad = Tensor("g" + number).Value("g" + number + weight);
    t.Out(grad);
    t.Phase(Phase::kOptimizer);
    for (int i = 0; i < (step == twice ? 2 : 1); ++i) {
      t.Op("aten::add_.Tensor").In(Tensor("weight").Value(weight)).In(grad).Arg("alpha", "-0.1");
      weight += "-" + number;
      t.Mut(0, Tensor("weight").Value(weight));
    }
  }
  return t;
}

TEST_CASE("FirstDiff names an extra optimizer step, not the next forward") {
  const Judged judged = JudgeBothWays(Stepping(3, 0), Stepping(3, 1));
  CheckDiverged(judged, Verdict::kStructural, "aten::add_.Tensor");
  CHECK(judged.diff.op.phase == Phase::kOptimizer);
  CHECK(judged.diff.op.step == 1);
  CHECK(judged.diff.op.seq_b == 4);
  CHECK(judged.diff.extra_total == 1);
  CHECK(judged.diff.equal_before.ops == 3);
}

TEST_CASE("FirstDiff names an extra optimizer step at the very end by what it left behind") {
  const Judged judged = JudgeBothWays(Stepping(2, 0), Stepping(2, 2));
  CheckDiverged(judged, Verdict::kStructural, "aten::add_.Tensor");
  CHECK(judged.diff.op.phase == Phase::kOptimizer);
  CHECK(judged.diff.op.step == 2);
}

TEST_CASE("FirstDiff does not call a longer run different") {
  const Judged judged = JudgeBothWays(Stepping(2, 0), Stepping(4, 0));
  CHECK(judged.diff.status == Status::kNoDifferenceInCoverage);
  CHECK(judged.diff.verdict == Verdict::kNone);
  CHECK(judged.diff.coverage.unaligned_b == 6);
  REQUIRE(judged.diff.warnings.size() == 1);
}

TEST_CASE("FirstDiff reports swapped operands as another value, not as an origin") {
  const auto side = [](bool is_swapped) {
    TraceBuilder t;
    t.Op("aten::sin").In(Tensor("x")).Out(Tensor("s"));
    t.Op("aten::cos").In(Tensor("x")).Out(Tensor("c"));
    t.Op("aten::sub.Tensor").In(Tensor(is_swapped ? "c" : "s")).In(Tensor(is_swapped ? "s" : "c"));
    t.Out(Tensor("d").Value(is_swapped ? "c-s" : "s-c"));
    return t;
  };
  const Judged judged = JudgeBothWays(side(false), side(true));
  CheckDiverged(judged, Verdict::kStructural, "aten::sub.Tensor");
  CHECK_FALSE(judged.diff.inputs_equal);
  CHECK(judged.diff.differing.size() == 3 - 1);
}

TEST_CASE("FirstDiff names a tensor argument that only one side gives") {
  const auto side = [](bool has_bias) {
    TraceBuilder t;
    t.Op("aten::linear").In(Tensor("x")).In(Tensor("w"));
    if (has_bias) t.In(Tensor("bias"));
    t.Out(Tensor("y").Value(has_bias ? "with" : "without"));
    return t;
  };
  const Judged judged = JudgeBothWays(side(true), side(false));
  CheckDiverged(judged, Verdict::kStructural, "aten::linear");
  CHECK(judged.diff.differing.at(0).slot == "in2");
}

TEST_CASE("FirstDiff names a view that one side only takes") {
  const auto side = [](bool is_transposed) {
    TraceBuilder t;
    Tensor weight = Tensor("w");
    if (is_transposed) {
      t.Op("aten::t").Traits(store::kMayView).In(weight);
      weight = weight.Strides({1, 4}).Value("w transposed");
      t.Out(weight.View());
    }
    t.Op("aten::mm").In(Tensor("x")).In(weight).Out(Tensor("y").Value("y" + weight.layout));
    return t;
  };
  TraceBuilder a = side(false), b = side(true);
  a.Op("aten::sum").In(Tensor("y").Value("1")).Out(Tensor("s", {}).Value("1"));
  b.Op("aten::sum").In(Tensor("y").Value("2")).Out(Tensor("s", {}).Value("2"));
  const Judged judged = JudgePair(a, b);
  INFO(judged.diff.reason);
  CHECK(judged.diff.verdict != Verdict::kInputData);
}

TEST_CASE("FirstDiff names the transposition that changes a product") {
  const auto side = [](bool is_transposed) {
    TraceBuilder t;
    Tensor weight = Tensor("w");
    if (is_transposed) {
      t.Op("aten::t").Traits(store::kMayView).In(weight);
      weight = weight.Strides({1, 4}).Value("w transposed");
      t.Out(weight.View());
    }
    t.Op("aten::mm").In(Tensor("x")).In(weight).Out(Tensor("y").Value(is_transposed ? "1" : "2"));
    return t;
  };
  const Judged judged = JudgeBothWays(side(false), side(true));
  CheckDiverged(judged, Verdict::kStructural, "aten::t");
}

TEST_CASE("FirstDiff takes recomputed forward ops for an insertion and finds what differs later") {
  const auto side = [](bool recomputes, const std::string& grad) {
    TraceBuilder t;
    t.Step().Phase(Phase::kForward).Module("block", "Block");
    t.Op("aten::linear").In(Tensor("x")).In(Tensor("w")).Out(Tensor("h"));
    t.Op("aten::relu").In(Tensor("h")).Out(Tensor("r"));
    t.Phase(Phase::kBackward);
    if (recomputes) {
      t.Op("aten::linear").Flags(store::kRecompute).In(Tensor("x")).In(Tensor("w"));
      t.Out(Tensor("h2").Value("h"));
      t.Op("aten::relu").Flags(store::kRecompute).In(Tensor("h2").Value("h"));
      t.Out(Tensor("r2").Value("r"));
    }
    t.Op("aten::threshold_backward").In(Tensor("go"));
    t.In(recomputes ? Tensor("r2").Value("r") : Tensor("r")).Out(Tensor("gh"));
    t.Op("aten::mm").In(Tensor("gh")).In(Tensor("x")).Out(Tensor("gw").Value(grad));
    return t;
  };
  const Judged equal = JudgeBothWays(side(false, "g"), side(true, "g"));
  CHECK(equal.diff.status == Status::kNoDifferenceInCoverage);
  const Judged differs = JudgeBothWays(side(false, "g"), side(true, "g'"));
  CheckDiverged(differs, Verdict::kOrigin, "aten::mm");
}

}  // namespace
}  // namespace opguard::analysis
