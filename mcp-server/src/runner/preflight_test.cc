#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "runner/fake_machine.h"
#include "runner/run_pair.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;
using testing::FakeMachine;
using testing::ScopedVariable;

std::set<std::string> Codes(const PairSpec& spec, const std::string& home) {
  std::set<std::string> codes;
  for (const Problem& problem : Preflight(spec, home)) {
    CHECK_FALSE(problem.message.empty());
    CHECK_FALSE(problem.fix.empty());
    codes.insert(problem.code);
  }
  return codes;
}

using Expected = std::set<std::string>;

TEST_CASE("Preflight finds nothing wrong with a good pair") {
  const FakeMachine machine;
  CHECK(Preflight(machine.Spec("")).empty());
}

TEST_CASE("Preflight reports all problems at once, each once") {
  const FakeMachine machine;
  PairSpec spec = machine.Spec("");
  spec.mode = "fast";
  spec.repeats = 0;
  spec.stop_after_steps = true;
  spec.a.argv = {"python3", "-I", "missing.py"};
  spec.b.argv = {"no-such-python", "train.py"};
  CHECK(Codes(spec, "/proc/home") ==
        Expected{"option", "home", "not_reached", "script", "interpreter"});
  spec = machine.Spec("");
  spec.a.argv = spec.b.argv = {"python3", "missing.py"};
  CHECK(Preflight(spec).size() == 1);
}

TEST_CASE("Preflight checks each thing that a run needs") {
  const FakeMachine machine;
  const std::string home = machine.File("home");
  PairSpec spec = machine.Spec("");
  spec.b.workdir = machine.File("nowhere");
  CHECK(Codes(spec, home) == Expected{"workdir"});
  spec = machine.Spec("");
  spec.a.argv = {};
  CHECK(Codes(spec, home) == Expected{"interpreter"});
  spec = machine.Spec("");
  machine.FakeTorch("2.1.2");
  CHECK(Codes(spec, home) == Expected{"torch"});
  machine.FakeTorch("2.13.0+cpu");
  {
    const ScopedVariable root("OPGUARD_SOURCE_ROOT", "/nonexistent");
    CHECK(Codes(spec, home) == Expected{"sources"});
  }
  const ScopedVariable cache("OPGUARD_CACHE", "/proc/cache");
  CHECK(Codes(spec, home) == Expected{"capture"});
}

TEST_CASE("Preflight lets a command pass that does not tell its interpreter") {
  const FakeMachine machine;
  PairSpec spec = machine.Spec("");
  fs::remove_all(machine.File("py/torch"));
  machine.Write("py/torch.py", "raise ModuleNotFoundError(name='torch')\n");
  spec.a.argv = {"sh", "-c", "cd /elsewhere && ./python train.py"};
  spec.b = spec.a;
  CHECK(Preflight(spec).empty());
}

}  // namespace
}  // namespace opguard::runner
