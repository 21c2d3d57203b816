// Properties of Align over random edits of a training program. The oracle is the statement number.
#include <rapidcheck.h>

#include <algorithm>

#include "align_test_support.h"

namespace opguard::analysis {
namespace {

using testing::MakeTraining;
using testing::Program;
using testing::Statement;

Program RandomTraining(bool use_modules) {
  testing::TrainingOptions options;
  options.steps = *rc::gen::inRange(1, 4);
  options.layers = *rc::gen::inRange(1, 4);
  options.micro_batches = *rc::gen::inRange(1, 3);
  options.use_modules = use_modules;
  return MakeTraining(options);
}

Program RandomTraining() { return RandomTraining(*rc::gen::arbitrary<bool>()); }

// Position of an op, not of a step mark.
std::size_t RandomOp(const Program& program) {
  const auto at = *rc::gen::inRange<std::size_t>(1, program.size());
  return program[at].op.empty() ? at - 1 : at;
}

std::ptrdiff_t At(std::size_t position) { return static_cast<std::ptrdiff_t>(position); }

// An op of another kind that changes the activation in place, so that all shapes stay.
Statement Added(const Statement& beside) {
  Statement added = beside;
  added.op = "custom::added_";
  added.reads = {"x"};
  added.writes = "x";
  added.is_in_place = true;
  added.draws = false;
  added.number = 0;
  return added;
}

// One random edit: an op gives another result, is lost, is added, or a block is run again.
void Edit(Program& program) {
  const std::size_t at = RandomOp(program);
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      program[at].perturbation = 1;
      break;
    case 1:
      program.erase(program.begin() + At(at));
      break;
    case 2: {
      program.insert(program.begin() + At(at), Added(program[at]));
      break;
    }
    default: {
      const std::size_t end = std::min(program.size(), at + *rc::gen::inRange<std::size_t>(1, 20));
      Program block(program.begin() + At(at), program.begin() + At(end));
      std::erase_if(block, [](const Statement& statement) { return statement.op.empty(); });
      for (Statement& statement : block) statement.number = 0;
      program.insert(program.begin() + At(end), block.begin(), block.end());
    }
  }
}

void CheckConsistent(const AlignedPrograms& result) {
  const Alignment& alignment = result.alignment;
  RC_ASSERT(alignment.match_a.size() == result.pair->a.ops());
  RC_ASSERT(alignment.match_b.size() == result.pair->b.ops());
  std::size_t matched = 0;
  for (std::size_t i = 0; i < alignment.match_a.size(); ++i) {
    if (alignment.match_a[i] < 0) continue;
    ++matched;
    const auto j = static_cast<std::size_t>(alignment.match_a[i]);
    RC_ASSERT(alignment.match_b[j] == static_cast<std::int64_t>(i));
    RC_ASSERT(result.pair->a.schema[i] == result.pair->b.schema[j]);
  }
  RC_ASSERT(alignment.rows == alignment.match_a.size() + alignment.match_b.size() - matched);
  std::uint64_t index = 0;
  for (const AlignedRun& run : alignment.runs) {
    RC_ASSERT(run.index == index);
    index += run.count;
  }
  RC_ASSERT(index == alignment.rows);
}

TEST_CASE("Property: a trace aligned with itself matches everywhere") {
  CHECK(rc::check([] {
    Program program = RandomTraining();
    Edit(program);
    const AlignedPrograms result(program, program);
    CheckConsistent(result);
    for (std::size_t i = 0; i < result.alignment.match_a.size(); ++i) {
      RC_ASSERT(result.alignment.match_a[i] == static_cast<std::int64_t>(i));
    }
  }));
}

TEST_CASE("Property: aligning B with A is the mirror of aligning A with B, and repeatable") {
  CHECK(rc::check([] {
    const Program a = RandomTraining();
    Program b = a;
    const int edits = *rc::gen::inRange(1, 6);
    for (int i = 0; i < edits; ++i) Edit(b);
    const AlignedPrograms forth(a, b), back(b, a), again(a, b);
    CheckConsistent(forth);
    RC_ASSERT(forth.alignment.match_a == back.alignment.match_b);
    RC_ASSERT(forth.alignment.match_b == back.alignment.match_a);
    RC_ASSERT(forth.alignment.match_a == again.alignment.match_a);
  }));
}

TEST_CASE("Property: an op that gives another result costs no match") {
  CHECK(rc::check([] {
    const Program a = RandomTraining();
    Program b = a;
    b[RandomOp(b)].perturbation = 1;
    RC_ASSERT(AlignedPrograms(a, b).Wrong() == 0);
  }));
}

TEST_CASE("Property: an op of its own kind that was added is the only one left over") {
  CHECK(rc::check([] {
    const Program a = RandomTraining();
    Program b = a;
    const std::size_t at = RandomOp(b);
    b.insert(b.begin() + At(at), Added(b[at]));
    const AlignedPrograms result(a, b);
    RC_ASSERT(result.Wrong() == 0);
    RC_ASSERT(result.alignment.rows == result.alignment.match_b.size());
  }));
}

TEST_CASE("Property: a block that ran twice leaves every other op matched") {
  CHECK(rc::check([] {
    const bool use_modules = *rc::gen::arbitrary<bool>();
    const Program a = RandomTraining(use_modules);
    Program b = a;
    const std::size_t at = RandomOp(b);
    const std::size_t end = std::min(b.size(), at + *rc::gen::inRange<std::size_t>(1, 30));
    Program block(b.begin() + At(at), b.begin() + At(end));
    std::erase_if(block, [](const Statement& statement) { return statement.op.empty(); });
    for (Statement& statement : block) statement.number = 0;
    b.insert(b.begin() + At(end), block.begin(), block.end());
    const AlignedPrograms result(a, b);
    const auto matched =
        std::count_if(result.alignment.match_a.begin(), result.alignment.match_a.end(),
                      [](std::int64_t match) { return match >= 0; });
    const std::size_t lost = result.alignment.match_a.size() - static_cast<std::size_t>(matched);
    // A block that ran twice on other values can look like its neighbours: rarely, where it spans
    // modules; more often, where no module is known.
    RC_ASSERT(lost <= block.size());
    // Which of two copies is the extra one is open among neighbours of one module and one shape.
    if (use_modules) RC_ASSERT(result.Wrong() <= block.size() + 8);
  }));
}

TEST_CASE("Property: weight updates that changed places are found by their values") {
  CHECK(rc::check([] {
    const Program a = MakeTraining({.steps = 1, .layers = 3});
    const auto first = std::find_if(a.begin(), a.end(), [](const Statement& statement) {
      return statement.phase == Phase::kOptimizer;
    });
    const auto updates = (a.end() - first) / 8;
    const auto x = *rc::gen::inRange<std::ptrdiff_t>(0, updates - 1);
    const auto y = *rc::gen::inRange<std::ptrdiff_t>(x + 1, updates);
    Program b = a;
    const auto begin = b.begin() + (first - a.begin());
    std::swap_ranges(begin + 8 * x, begin + 8 * x + 8, begin + 8 * y);
    RC_ASSERT(AlignedPrograms(a, b).Wrong() == 0);
  }));
}

}  // namespace
}  // namespace opguard::analysis
