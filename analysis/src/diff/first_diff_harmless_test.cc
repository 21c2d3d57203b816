// Controls: what differs between any two runs is no difference.
#include "diff_test_support.h"

namespace opguard::analysis {
namespace {

using testing::Phase;

TEST_CASE("FirstDiff calls equal traces identical at full coverage") {
  TraceBuilder t;
  t.Step().Phase(Phase::kForward).Module("fc", "Linear");
  t.Op("aten::randperm").Traits(store::kDraws).Arg("n", "8").Rng("cpu", 7, 1, 2);
  t.Out(Tensor("order", {8}).Dtype("int64"));
  t.Op("aten::index.Tensor").In(Tensor("data")).In(Tensor("order", {8}).Dtype("int64"));
  t.Out(Tensor("x"));
  t.Op("aten::t").In(Tensor("w")).Out(Tensor("w").Strides({1, 4}).View());
  t.Op("aten::mm").In(Tensor("x")).In(Tensor("w").Strides({1, 4})).Out(Tensor("y"));
  t.Op("aten::dropout").Traits(store::kDraws).In(Tensor("y")).Arg("p", "0.1");
  t.Rng("cpu", 7, 2, 3).Out(Tensor("z"));
  const Judged judged = JudgeBothWays(t, t);
  CheckIdentical(judged);
  CHECK(judged.diff.coverage.tensors == 11);
  CHECK(judged.diff.equal_before.ops == 5);
  CHECK(judged.diff.passed_over.empty());
  CHECK(judged.diff.warnings.empty());
  CHECK(judged.alignment.runs.size() == 1);
}

TEST_CASE("FirstDiff ignores what new memory holds before it is written over") {
  const auto side = [](const std::string& garbage) {
    TraceBuilder t;
    for (const std::string op : {"aten::uniform_", "aten::normal_", "aten::copy_", "aten::zero_",
                                 "aten::fill_.Scalar", "aten::bernoulli_.float", "aten::random_"}) {
      const Tensor memory("m" + op);
      t.Op("aten::empty.memory_format").Out(memory.Value(garbage + op));
      t.Op("aten::detach").In(memory.Value(garbage + op)).Out(memory.View());
      t.Op(op).In(memory.Value(garbage + op)).Mut(0, memory.Value("written"));
      t.Op("aten::relu").In(memory.Value("written")).Out(Tensor("r" + op));
    }
    return t;
  };
  const Judged judged = JudgeBothWays(side("g1"), side("g2"));
  CheckIdentical(judged);
  CHECK(judged.HasPassedOver(Verdict::kProbeArtifact));
}

TEST_CASE("FirstDiff ignores what an out argument held") {
  const auto side = [](const std::string& garbage) {
    TraceBuilder t;
    t.Op("aten::empty_like").In(Tensor("x")).Out(Tensor("o").Value(garbage));
    t.Op("aten::mm.out")
        .Signature("aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)");
    t.In(Tensor("x")).In(Tensor("w")).In(Tensor("o").Value(garbage));
    t.Mut(2, Tensor("o").Value("product"));
    return t;
  };
  CheckIdentical(JudgeBothWays(side("g1"), side("g2")));
}

TEST_CASE("FirstDiff ignores an unwritten gap that no op reads") {
  // Two halves are copied into one buffer, then the whole is read.
  const auto side = [](const std::string& garbage) {
    TraceBuilder t;
    const Tensor whole("buffer", {8}), low("buffer", {4}), high = Tensor("buffer", {4}).Offset(4);
    t.Op("aten::empty.memory_format").Out(whole.Value(garbage));
    t.Op("aten::copy_").In(low.Value(garbage + "l")).In(Tensor("l", {4}));
    t.Mut(0, low.Value("low"));
    t.Op("aten::copy_").In(high.Value(garbage + "h")).In(Tensor("h", {4}));
    t.Mut(0, high.Value("high"));
    t.Op("aten::sum").In(whole.Value("both")).Out(Tensor("s", {}));
    return t;
  };
  CheckIdentical(JudgeBothWays(side("g1"), side("g2")));
}

TEST_CASE("FirstDiff takes independent ops in another order for no difference") {
  const auto side = [](bool is_swapped) {
    TraceBuilder t;
    const std::string first = is_swapped ? "b" : "a", second = is_swapped ? "a" : "b";
    t.Op("aten::relu").In(Tensor("x")).Out(Tensor("h"));
    t.Op("aten::sum").In(Tensor(first)).Out(Tensor("sum " + first, {}));
    t.Op("aten::sum").In(Tensor(second)).Out(Tensor("sum " + second, {}));
    t.Op("aten::add.Tensor").In(Tensor("sum " + first, {})).In(Tensor("sum " + second, {}));
    t.Out(Tensor("total", {}));
    t.Op("aten::neg").In(Tensor("total", {})).Out(Tensor("n", {}));
    return t;
  };
  const Judged judged = JudgeBothWays(side(false), side(true));
  CheckIdentical(judged);
  CHECK(judged.HasPassedOver(Verdict::kReordered));
  CHECK(judged.diff.verdict == Verdict::kNone);
}

TEST_CASE("FirstDiff passes over a difference that the next op absorbs") {
  const auto side = [](const std::string& negative) {
    TraceBuilder t;
    t.Op("aten::mm").In(Tensor("x")).In(Tensor("w")).Out(Tensor("y").Value(negative));
    t.Op("aten::relu").In(Tensor("y").Value(negative)).Out(Tensor("r"));
    t.Op("aten::sum").In(Tensor("r")).Out(Tensor("s", {}));
    return t;
  };
  const Judged judged = JudgeBothWays(side("1"), side("2"));
  INFO(judged.diff.reason);
  CHECK(judged.diff.passed_over.size() == 2);
  CHECK(judged.diff.verdict == Verdict::kNone);
}

TEST_CASE("FirstDiff reports a difference that nobody reads, for it is the result") {
  const auto side = [](const std::string& loss) {
    TraceBuilder t;
    t.Op("aten::mm").In(Tensor("x")).In(Tensor("w")).Out(Tensor("y"));
    t.Op("aten::mean").In(Tensor("y")).Out(Tensor("loss", {}).Value(loss));
    return t;
  };
  CheckDiverged(JudgeBothWays(side("1"), side("2")), Verdict::kOrigin, "aten::mean");
}

TEST_CASE("FirstDiff compares a value that one side has as a view of its input") {
  const auto side = [](bool is_copied, const std::string& copy) {
    TraceBuilder t;
    t.Op("aten::mm").In(Tensor("a")).In(Tensor("b")).Out(Tensor("x"));
    t.Op("aten::contiguous").In(Tensor("x"));
    t.Out(is_copied ? Tensor("copy").Value(copy) : Tensor("x").View());
    t.Op("aten::relu").In(is_copied ? Tensor("copy").Value(copy) : Tensor("x"));
    t.Out(Tensor("r").Value("r" + copy));
    return t;
  };
  CheckIdentical(JudgeBothWays(side(false, "x"), side(true, "x")));
  CheckDiverged(JudgeBothWays(side(false, "x"), side(true, "spoilt")), Verdict::kOrigin,
                "aten::contiguous");
}

}  // namespace
}  // namespace opguard::analysis
