// Statuses, coverage, options, damaged and lopsided pairs.
#include "analysis/testing/program.h"
#include "diff_test_support.h"

namespace opguard::analysis {
namespace {

using testing::Phase;

TraceBuilder Chain(const std::string& first, const std::string& second) {
  TraceBuilder t;
  t.Step().Phase(Phase::kForward).Module("a.fc", "Linear");
  t.Op("aten::mm").In(Tensor("x")).In(Tensor("w")).Out(Tensor("h").Value(first));
  t.Op("aten::relu").In(Tensor("h").Value(first)).Out(Tensor("r").Value("r" + first));
  t.Phase(Phase::kOptimizer).NoModule();
  t.Op("aten::mm").In(Tensor("u")).In(Tensor("v")).Out(Tensor("z").Value(second));
  return t;
}

std::unique_ptr<TracePair> LoadWithStatus(const TraceBuilder& a, const TraceBuilder& b,
                                          const std::string& status) {
  const testing::TempFolder folder;
  testing::WriteTrace(a, folder.File("a.opguard"));
  testing::WriteTrace(b, folder.File("b.opguard"), status);
  auto pair = LoadPair(folder.File("a.opguard"), folder.File("b.opguard"));
  REQUIRE(pair);
  return std::move(*pair);
}

TEST_CASE("FirstDiff compares nothing with an empty side") {
  const TraceBuilder empty;
  CHECK(JudgePair(empty, empty).diff.status == Status::kIncomparable);
  CHECK(JudgePair(empty, Chain("1", "2")).diff.status == Status::kIncomparable);
  CHECK(JudgePair(Chain("1", "2"), empty).diff.status == Status::kIncomparable);
}

TEST_CASE("FirstDiff compares nothing between two different programs") {
  TraceBuilder a, b;
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    a.Op("aten::mm").In(Tensor("a" + number)).Out(Tensor("x" + number));
    b.Op("aten::conv2d").In(Tensor("b" + number)).Out(Tensor("y" + number));
  }
  const Judged judged = JudgePair(a, b);
  CHECK(judged.diff.status == Status::kIncomparable);
  CHECK(judged.diff.verdict == Verdict::kNone);
  CHECK(judged.diff.coverage.aligned == 0);
}

TEST_CASE("FirstDiff does not call an incomplete trace identical") {
  const Judged judged = JudgeLoaded(LoadWithStatus(Chain("1", "2"), Chain("1", "2"), "incomplete"));
  CHECK(judged.diff.status == Status::kIncomplete);
  CHECK_FALSE(judged.diff.coverage.full);
  CHECK(judged.diff.warnings.size() == 1);
}

TEST_CASE("FirstDiff reports a difference in an incomplete trace") {
  const Judged judged = JudgeLoaded(LoadWithStatus(Chain("1", "2"), Chain("9", "2"), "incomplete"));
  CheckDiverged(judged, Verdict::kOrigin, "aten::mm");
  CHECK(judged.diff.warnings.size() == 1);
}

TEST_CASE("FirstDiff does not take where an incomplete trace stops for a difference") {
  TraceBuilder a, b;
  for (TraceBuilder* t : {&a, &b}) {
    t->Op("aten::mm").In(Tensor("x")).In(Tensor("w")).Out(Tensor("g"));
  }
  a.Phase(Phase::kOptimizer).Op("aten::add_.Tensor").In(Tensor("w")).In(Tensor("g"));
  a.Mut(0, Tensor("w").Value("updated"));
  CHECK(JudgeLoaded(LoadWithStatus(a, b, "incomplete")).diff.status == Status::kIncomplete);
  CHECK(JudgeLoaded(LoadWithStatus(a, b, "complete")).diff.verdict == Verdict::kStructural);
}

TEST_CASE("FirstDiff says identical at full coverage only") {
  const auto status = [](const TraceBuilder& t) { return JudgePair(t, t).diff.status; };
  CHECK(status(Chain("1", "2")) == Status::kIdentical);
  CHECK(status(Chain("1", "2").Meta("skipped.fake", "0")) == Status::kIdentical);
  CHECK(status(Chain("1", "2").Meta("skipped.fake", "3")) == Status::kNoDifferenceInCoverage);
  CHECK(status(Chain("1", "2").Gap(1, 1, "disk full")) == Status::kNoDifferenceInCoverage);
  TraceBuilder trusted = Chain("1", "2"), unreadable = Chain("1", "2");
  trusted.Op("aten::relu").In(Tensor("x").Trusted()).Out(Tensor("y"));
  unreadable.Op("aten::relu").In(Tensor("x").Unreadable()).Out(Tensor("y"));
  CHECK(status(trusted) == Status::kNoDifferenceInCoverage);
  CHECK(status(unreadable) == Status::kNoDifferenceInCoverage);
}

TEST_CASE("FirstDiff counts coverage by how a record was compared") {
  TraceBuilder t;
  t.Meta("skipped.compile", "7");
  t.Op("aten::t").In(Tensor("w")).Out(Tensor("w").View());
  t.Op("aten::mm").In(Tensor("x").Trusted()).In(Tensor("w")).Out(Tensor("y"));
  t.Op("aten::relu").In(Tensor("y").Unreadable()).Out(Tensor("z"));
  const Coverage coverage = JudgePair(t, t).diff.coverage;
  CHECK(coverage.ops_a == 3);
  CHECK(coverage.ops_b == 3);
  CHECK(coverage.aligned == 3);
  CHECK(coverage.tensors == 7);
  CHECK(coverage.compared == 5);
  CHECK(coverage.trusted == 1);
  CHECK(coverage.unreadable == 1);
  REQUIRE(coverage.skipped.size() == 1);
  CHECK(coverage.skipped[0].first == "compile");
  CHECK(coverage.skipped[0].second == 7);
}

TEST_CASE("FirstDiff goes on after a row") {
  const TraceBuilder a = Chain("1", "2"), b = Chain("one", "two");
  const Judged first = JudgePair(a, b);
  CHECK(first.diff.op.seq_a == 1);
  CHECK(first.diff.receivers == 2);
  const Judged second =
      JudgePair(a, b, {.after_index = static_cast<std::int64_t>(first.diff.op.index), .scope = ""});
  CheckDiverged(second, Verdict::kOrigin, "aten::mm");
  CHECK(second.diff.op.seq_a == 3);
  const Judged third = JudgePair(
      a, b, {.after_index = static_cast<std::int64_t>(second.diff.op.index), .scope = ""});
  CHECK(third.diff.status == Status::kNoDifferenceInCoverage);
  CHECK(third.diff.warnings.size() == 1);
}

TEST_CASE("FirstDiff keeps to a phase or a module") {
  const TraceBuilder a = Chain("1", "2"), b = Chain("one", "two");
  const auto found = [&](const std::string& scope) {
    return JudgePair(a, b, {.after_index = -1, .scope = scope}).diff.op.seq_a;
  };
  CHECK(found("optimizer") == 3);
  CHECK(found("forward") == 1);
  CHECK(found("a") == 1);
  CHECK(found("a.fc") == 1);
  CHECK(found("a.f") == 0);
  CHECK(found("backward") == 0);
}

TEST_CASE("FirstDiff says that another lane differs by itself as well") {
  const auto side = [](const std::string& kind) {
    TraceBuilder t;
    t.Op("aten::mm").In(Tensor("x")).In(Tensor("w")).Out(Tensor("y").Value("y" + kind));
    t.Lane("thread.1");
    t.Op("aten::mm").In(Tensor("u")).In(Tensor("v")).Out(Tensor("z").Value("z" + kind));
    return t;
  };
  const Judged judged = JudgeBothWays(side("1"), side("2"));
  CHECK(judged.diff.op.lane == "main");
  REQUIRE(judged.diff.warnings.size() == 1);
  CHECK(judged.diff.warnings[0].find("thread.1") != std::string::npos);
}

TEST_CASE("FirstDiff judges an alignment again with the same answer") {
  Judged judged = JudgePair(Chain("1", "2"), Chain("one", "2"));
  RestoreMatches(judged.alignment);
  const FirstDiff again = FindFirstDiff(*judged.pair, judged.alignment);
  CHECK(again.op.index == judged.diff.op.index);
  CHECK(again.verdict == judged.diff.verdict);
  CHECK(again.equal_before.ops == judged.diff.equal_before.ops);
  CHECK(again.receivers == judged.diff.receivers);
}

TEST_CASE("FirstDiff finds one changed result anywhere in a training program") {
  using testing::Program;
  const Program original = testing::MakeTraining({.steps = 2, .layers = 1, .micro_batches = 1});
  for (std::size_t at = 1; at < original.size(); at += 7) {
    if (original[at].op.empty() || original[at].op == "aten::zero_") continue;
    Program edited = original;
    edited[at].perturbation = 1;
    TraceBuilder a, b;
    const auto numbers = testing::Run(original, a);
    testing::Run(edited, b);
    const Judged judged = JudgeBothWays(a, b);
    INFO(at, " ", original[at].op, " ", judged.diff.op.name, " ", judged.diff.reason);
    const auto expected =
        std::find(numbers.begin(), numbers.end(), original[at].number) - numbers.begin();
    CHECK(judged.diff.status == Status::kDiverged);
    CHECK(judged.diff.op.a == expected);
    CHECK(judged.diff.equal_before.ops == static_cast<std::uint64_t>(expected));
  }
}

TEST_CASE("FirstDiff finds one removed statement anywhere in a training program") {
  using testing::Program;
  const Program original = testing::MakeTraining({.steps = 2, .layers = 1, .micro_batches = 1});
  for (std::size_t at = 5; at < original.size(); at += 9) {
    if (original[at].op.empty() || original[at].draws) continue;
    Program edited = original;
    edited.erase(edited.begin() + static_cast<std::ptrdiff_t>(at));
    TraceBuilder a, b;
    const auto numbers = testing::Run(original, a);
    testing::Run(edited, b);
    const Judged judged = JudgeBothWays(a, b);
    INFO(at, " ", original[at].op, " ", judged.diff.op.name, " ", judged.diff.reason);
    if (judged.diff.status != Status::kDiverged) continue;
    const auto expected =
        std::find(numbers.begin(), numbers.end(), original[at].number) - numbers.begin();
    CHECK(VerdictName(judged.diff.verdict) == VerdictName(Verdict::kStructural));
    CHECK(judged.diff.op.a == expected);
  }
}

}  // namespace
}  // namespace opguard::analysis
