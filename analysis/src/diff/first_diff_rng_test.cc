// Random draws: seed, generator, order, extra draws.
#include "diff_test_support.h"

namespace opguard::analysis {
namespace {

struct Draw {
  std::string out;
  std::uint64_t seed, before, after;
  std::string generator = "cpu";
};

void AddDropout(TraceBuilder& t, const std::string& name, const Draw& draw) {
  t.Op("aten::dropout").Traits(store::kDraws).In(Tensor("x")).Arg("p", "0.1");
  t.Rng(draw.generator, draw.seed, draw.before, draw.after).Out(Tensor(name).Value(draw.out));
}

TraceBuilder Side(const std::vector<Draw>& draws) {
  TraceBuilder t;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    AddDropout(t, std::string("d").append(std::to_string(i)), draws[i]);
  }
  return t;
}

TEST_CASE("FirstDiff says that the seed differs") {
  const Judged judged = JudgeBothWays(Side({{"m1", 1, 10, 11}}), Side({{"m2", 2, 20, 21}}));
  CheckDiverged(judged, Verdict::kRng, "aten::dropout");
  CHECK(judged.diff.inputs_equal);
  CHECK(judged.diff.certainty == Certainty::kCertain);
  CHECK(judged.diff.reason.find("seeded with 1 on A and 2 on B") != std::string::npos);
}

TEST_CASE("FirstDiff says that the generator differs") {
  const Judged judged =
      JudgeBothWays(Side({{"m1", 1, 10, 11, "cpu"}}), Side({{"m2", 1, 10, 11, "cuda:0"}}));
  CheckDiverged(judged, Verdict::kRng, "aten::dropout");
  CHECK(judged.diff.reason.find("cuda:0") != std::string::npos);
}

TEST_CASE("FirstDiff says that something unrecorded drew") {
  const Judged judged = JudgeBothWays(Side({{"m0", 1, 10, 11}, {"m1", 1, 11, 12}}),
                                      Side({{"m0", 1, 10, 11}, {"m2", 1, 99, 100}}));
  CheckDiverged(judged, Verdict::kRng, "aten::dropout");
  CHECK(judged.diff.op.seq_a == 2);
  CHECK(judged.diff.certainty == Certainty::kLikely);
}

TEST_CASE("FirstDiff names a draw from equal state as origin, not as rng") {
  CheckDiverged(JudgeBothWays(Side({{"m1", 1, 10, 11}}), Side({{"m2", 1, 10, 11}})),
                Verdict::kOrigin, "aten::dropout");
}

TEST_CASE("FirstDiff names a dropout probability before the generator") {
  const auto side = [](const std::string& p) {
    TraceBuilder t;
    t.Op("aten::dropout").Traits(store::kDraws).In(Tensor("x")).Arg("p", p).Rng("cpu", 1, 10, 11);
    t.Out(Tensor("y").Value("y" + p));
    return t;
  };
  CheckDiverged(JudgeBothWays(side("0.1"), side("0.2")), Verdict::kScalarArg, "aten::dropout");
}

TEST_CASE("FirstDiff names the extra draw, not the draw that it shifts") {
  TraceBuilder a, b;
  AddDropout(a, "d0", {"m0", 1, 10, 11});
  AddDropout(b, "d0", {"m0", 1, 10, 11});
  b.Op("aten::randn").Traits(store::kDraws).Arg("size", "[3]").Rng("cpu", 1, 11, 15);
  b.Out(Tensor("noise", {3}));
  AddDropout(a, "d1", {"m1", 1, 11, 12});
  AddDropout(b, "d1", {"m2", 1, 15, 16});
  AddDropout(a, "d2", {"m3", 1, 12, 13});
  AddDropout(b, "d2", {"m4", 1, 16, 17});
  const Judged judged = JudgeBothWays(a, b);
  CheckDiverged(judged, Verdict::kStructural, "aten::randn");
  CHECK(judged.diff.extra_total == 1);
  CHECK(judged.diff.equal_before.ops == 1);
  CHECK(judged.diff.reason.find("aten::dropout") != std::string::npos);
}

TEST_CASE("FirstDiff ignores another state that no value shows") {
  CheckIdentical(JudgeBothWays(Side({{"same", 1, 10, 11}}), Side({{"same", 2, 20, 21}})));
}

TEST_CASE("FirstDiff names the earlier draw that took another amount") {
  TraceBuilder a = Side({{"m0", 1, 10, 11}, {"m1", 1, 11, 12}});
  TraceBuilder b = Side({{"m0", 1, 10, 14}, {"m2", 1, 14, 15}});
  const Judged judged = JudgeBothWays(a, b);
  CheckDiverged(judged, Verdict::kRng, "aten::dropout");
  CHECK(judged.diff.reason.find("another amount") != std::string::npos);
}

TEST_CASE("FirstDiff says so when the state was not recorded") {
  const auto side = [](const std::string& out) {
    TraceBuilder t;
    t.Op("aten::bernoulli").Traits(store::kDraws).In(Tensor("p")).Out(Tensor("m").Value(out));
    return t;
  };
  const Judged judged = JudgeBothWays(side("1"), side("2"));
  CheckDiverged(judged, Verdict::kRng, "aten::bernoulli");
  CHECK(judged.diff.certainty == Certainty::kLikely);
}

}  // namespace
}  // namespace opguard::analysis
