#include <algorithm>
#include <string>

#include "align_test_support.h"

namespace opguard::analysis {
namespace {

using testing::MakeTraining;
using testing::Program;
using testing::Statement;
using testing::Tensor;
using testing::TraceBuilder;

Statement Inserted(const std::string& op, const std::string& variable) {
  Statement statement;
  statement.op = op;
  statement.reads = {variable};
  statement.writes = variable;
  return statement;
}

std::size_t PositionOf(const Program& program, const std::string& op, std::size_t occurrence = 0) {
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (program[i].op == op && occurrence-- == 0) return i;
  }
  return program.size();
}

TEST_CASE("Align matches a trace with itself everywhere") {
  const Program program = MakeTraining({.steps = 2, .layers = 2, .micro_batches = 2});
  const AlignedPrograms result(program, program);
  CHECK(result.Wrong() == 0);
  CHECK(result.alignment.runs.size() == 1);
}

TEST_CASE("Align keeps every match after an op that gives another result") {
  const Program a = MakeTraining({});
  Program b = a;
  b[PositionOf(b, "aten::gelu")].perturbation = 1;
  const AlignedPrograms result(a, b);
  CHECK(result.Wrong() == 0);
}

TEST_CASE("Align finds the one op that is missing and matches the rest") {
  for (const bool use_modules : {true, false}) {
    const Program a = MakeTraining({.steps = 3, .layers = 3, .use_modules = use_modules});
    for (const std::size_t at : {std::size_t{5}, std::size_t{40}, std::size_t{120}, a.size() - 3}) {
      if (a[at].op.empty()) continue;
      Program b = a;
      b.erase(b.begin() + static_cast<std::ptrdiff_t>(at));
      CAPTURE(use_modules);
      CAPTURE(at);
      CHECK(AlignedPrograms(a, b).Wrong() == 0);
      CHECK(AlignedPrograms(b, a).Wrong() == 0);
    }
  }
}

TEST_CASE("Align leaves an inserted block alone and matches the rest") {
  const Program a = MakeTraining({.steps = 2, .layers = 4});
  Program b = a;
  const auto at = b.begin() + 30;
  Program block(a.begin() + 10, a.begin() + 26);  // as if a layer ran twice
  for (Statement& statement : block) statement.number = 0;
  b.insert(at, block.begin(), block.end());
  const AlignedPrograms result(a, b);
  CHECK(result.Wrong() == 0);
}

TEST_CASE("Align passes two independent ops that were swapped") {
  TraceBuilder a, b;
  const auto sum = [](TraceBuilder& t, const char* x) {
    t.Op("aten::sum").In(Tensor(x)).Out(Tensor(std::string("sum ") + x, {}));
  };
  const auto add = [](TraceBuilder& t) {
    t.Op("aten::add.Tensor").In(Tensor("sum p", {})).In(Tensor("sum q", {})).Out(Tensor("r", {}));
  };
  sum(a, "p"), sum(a, "q"), add(a);
  sum(b, "q"), sum(b, "p"), add(b);
  CHECK(MatchOf(a, b) == Match{1, 0, 2});
  CHECK(MatchOf(b, a) == Match{1, 0, 2});
}

TEST_CASE("Align rescues a block that moved, its values unchanged") {
  const Program a = MakeTraining({.steps = 1, .layers = 2});
  Program b = a;
  // Weight updates are independent of each other.
  const std::size_t first = PositionOf(b, "aten::mul_.Scalar");
  std::rotate(b.begin() + static_cast<std::ptrdiff_t>(first),
              b.begin() + static_cast<std::ptrdiff_t>(first + 8),
              b.begin() + static_cast<std::ptrdiff_t>(first + 40));
  CHECK(AlignedPrograms(a, b).Wrong() == 0);
}

TEST_CASE("An extra optimizer step at the start does not shift the steps after it") {
  for (const bool has_own_batch : {true, false}) {
    const Program a = MakeTraining({.steps = 3, .layers = 1});
    Program extra = MakeTraining({.steps = 1, .layers = 1});
    for (Statement& statement : extra) {
      statement.number = 0;
      if (statement.op == "aten::stack") statement.reads = {has_own_batch ? "warm-up" : "data.0.0"};
    }
    for (Statement& statement : extra) statement.forward = 0;
    Program b = extra;
    b.insert(b.end(), a.begin(), a.end());
    const AlignedPrograms result(a, b);
    CAPTURE(has_own_batch);
    if (has_own_batch) {
      CHECK(result.Wrong() == 0);
      continue;
    }
    // The warm-up repeats step 1 exactly: step 1 is the first of the two, steps 2 and 3 are right.
    const std::size_t ops = result.numbers_a.size() / 3;
    CHECK(result.alignment.match_a[0] == 0);
    for (std::size_t i = ops; i < result.numbers_a.size(); ++i) {
      CHECK(result.alignment.match_a[i] == result.expected[i]);
    }
  }
}

TEST_CASE("A second optimizer pass inside a step is the extra one") {
  const Program a = MakeTraining({.steps = 1, .layers = 1});
  Program b = a;
  const auto first = static_cast<std::ptrdiff_t>(PositionOf(a, "aten::mul_.Scalar"));
  Program again(a.begin() + first, a.end());
  for (Statement& statement : again) statement.number = 0;
  b.insert(b.end(), again.begin(), again.end());
  CHECK(AlignedPrograms(a, b).Wrong() == 0);
  CHECK(AlignedPrograms(b, a).alignment.match_b == AlignedPrograms(a, b).alignment.match_a);
}

TEST_CASE("Recomputed forward ops pair with recomputed ones only") {
  const Program a = MakeTraining({.steps = 1, .layers = 2});
  Program b = a;
  Program again(a.begin() + 20, a.begin() + 34);
  for (Statement& statement : again) {
    statement.number = 0;
    statement.phase = Phase::kBackward;
    statement.flags = store::kRecompute;
  }
  const auto backward = static_cast<std::ptrdiff_t>(PositionOf(a, "aten::ones_like")) + 12;
  b.insert(b.begin() + backward, again.begin(), again.end());
  CHECK(AlignedPrograms(a, b).Wrong() == 0);
  CHECK(AlignedPrograms(b, a).Wrong() == 0);
  CHECK(AlignedPrograms(b, b).Wrong() ==
        static_cast<std::size_t>(std::count_if(b.begin(), b.end(), [](const Statement& statement) {
          return !statement.op.empty() && statement.number == 0;
        })));
}

TEST_CASE("An extra draw is the one left over although the later draws all change") {
  const Program a = MakeTraining({.steps = 2, .layers = 3});
  Program b = a;
  Statement extra = b[PositionOf(b, "aten::bernoulli")];
  extra.module = "wte";
  extra.number = 0;
  b.insert(b.begin() + static_cast<std::ptrdiff_t>(PositionOf(b, "aten::layer_norm")), extra);
  CHECK(AlignedPrograms(a, b).Wrong() == 0);
  CHECK(AlignedPrograms(b, a).Wrong() == 0);
}

TEST_CASE("Renamed modules still align") {
  const Program a = MakeTraining({.steps = 2, .layers = 2});
  Program b = a;
  for (Statement& statement : b) {
    if (!statement.module.empty()) statement.module = "model.decoder." + statement.module;
  }
  b[PositionOf(b, "aten::embedding")].perturbation = 1;
  CHECK(AlignedPrograms(a, b).Wrong() == 0);
}

TEST_CASE("Another batch size everywhere still aligns, also beside an inserted op") {
  const Program a = MakeTraining({.steps = 2, .layers = 2});
  Program b = a;
  for (Statement& statement : b) {
    if (!statement.sizes.empty()) statement.sizes[0] = 2;
  }
  b[PositionOf(b, "aten::stack")].perturbation = 1;
  CHECK(AlignedPrograms(a, b).Wrong() == 0);
  b.insert(b.begin() + 20, Inserted("aten::clamp", "x"));
  CHECK(AlignedPrograms(a, b).Wrong() == 0);
}

TEST_CASE("Ops whose phase changed are matched all the same") {
  const Program a = MakeTraining({.steps = 1, .layers = 2});
  Program b = a;
  for (std::size_t i = 8; i < 14; ++i) b[i].phase = Phase::kOther;
  CHECK(AlignedPrograms(a, b).Wrong() == 0);
}

TEST_CASE("Values decide which of several ops of one key is the inserted one") {
  // Same number of ops of one key on both sides, but another one is missing on each.
  TraceBuilder a, b;
  const auto scale = [](TraceBuilder& t, const std::string& x) {
    t.Op("aten::mul_.Scalar").In(Tensor(x)).Mut(0, Tensor(x).Value(x + " scaled"));
  };
  for (const char* x : {"p", "q", "r", "s"}) scale(a, x);
  for (const char* x : {"o", "p", "q", "r"}) scale(b, x);
  CHECK(MatchOf(a, b) == Match{1, 2, 3, -1});
  CHECK(MatchOf(b, a) == Match{-1, 0, 1, 2});
}

TEST_CASE("An operator that was replaced keeps its neighbours matched and stays unmatched") {
  const Program a = MakeTraining({.steps = 1, .layers = 2});
  Program b = a;
  const std::size_t at = PositionOf(b, "aten::gelu");
  b[at].op = "custom::gelu";
  b[at].number = 0;
  const AlignedPrograms result(a, b);
  CHECK(result.Wrong() == 0);
}

TEST_CASE("Lanes are aligned apart, whatever their interleaving") {
  TraceBuilder a, b;
  const auto on = [](TraceBuilder& t, const char* lane, const char* x) {
    t.Lane(lane).Op("aten::copy_").In(Tensor(x)).Out(Tensor(x));
  };
  on(a, "main", "m1"), on(a, "main", "m2"), on(a, "thread.1", "t1"), on(a, "thread.1", "t2");
  on(b, "thread.1", "t1"), on(b, "main", "m1"), on(b, "thread.1", "t2"), on(b, "main", "m2");
  CHECK(MatchOf(a, b) == Match{1, 3, 0, 2});
}

TEST_CASE("Ops of different operators never match") {
  TraceBuilder a, b;
  a.Op("aten::add.Tensor").In(Tensor("x")).Out(Tensor("y"));
  b.Op("aten::add.Scalar").In(Tensor("x")).Out(Tensor("y"));
  CHECK(MatchOf(a, b) == Match{-1});
}

TEST_CASE("A side without step marks is aligned with all steps of the other") {
  const Program a = MakeTraining({.steps = 3, .layers = 1});
  Program b = a;
  std::erase_if(b, [](const Statement& statement) { return statement.op.empty(); });
  CHECK(AlignedPrograms(a, b).Wrong() == 0);
}

TEST_CASE("Windows beyond the largest table are split and still align") {
  // One operator throughout and no equal value: nothing to anchor on but the count.
  TraceBuilder a, b;
  for (int i = 0; i < 700; ++i) {
    a.Op("aten::relu").In(Tensor("a" + std::to_string(i))).Out(Tensor("y"));
  }
  for (int i = 0; i < 650; ++i) {
    b.Op("aten::relu").In(Tensor("b" + std::to_string(i))).Out(Tensor("z"));
  }
  const auto alignment = Align(*testing::MakePair(a, b), {.max_window = 128});
  const auto matched = std::count_if(alignment.match_a.begin(), alignment.match_a.end(),
                                     [](std::int64_t match) { return match >= 0; });
  CHECK(matched == 650);
}

TEST_CASE("Align takes no evidence from memory that nothing was written to") {
  // The allocator hands B the blocks in another order: the garbage of one layer is found in
  // another.
  const auto initialise = [](std::size_t shift) {
    testing::TraceBuilder t;
    for (std::size_t layer = 0; layer < 6; ++layer) {
      const std::string name = "weight" + std::to_string(layer);
      const auto garbage =
          testing::Tensor(name).Value("block" + std::to_string((layer + shift) % 6));
      t.Op("aten::empty").Arg("size", "[4, 4]").Out(garbage);
      t.Op("aten::detach").In(garbage).Out(garbage.View());
      t.Op("aten::uniform_").Traits(store::kDraws).In(garbage).Mut(0, testing::Tensor(name));
      t.Op("aten::mul").In(testing::Tensor(name)).Out(testing::Tensor("scaled" + name));
    }
    return t;
  };
  Match everywhere;
  for (std::int64_t op = 0; op < 24; ++op) everywhere.push_back(op);
  for (std::size_t shift = 1; shift < 6; ++shift) {
    CHECK(MatchOf(initialise(0), initialise(shift)) == everywhere);
  }
}

TEST_CASE("Align copes with empty sides") {
  TraceBuilder none, some;
  some.Op("aten::relu").Op("aten::relu");
  CHECK(MatchOf(none, none).empty());
  CHECK(MatchOf(some, none) == Match{-1, -1});
  CHECK(Align(*testing::MakePair(none, some)).rows == 2);
}

}  // namespace
}  // namespace opguard::analysis
