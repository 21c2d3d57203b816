#include <doctest/doctest.h>

#include <filesystem>

#include "runner/fake_machine.h"
#include "runner/git.h"
#include "runner/run_pair.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;
using testing::FakeMachine;
using testing::RunPairToEnd;
using testing::Warns;

// Two revisions whose module `value` differs; `program` is in both.
class Repository : public FakeMachine {
 public:
  explicit Repository(const std::string& program) {
    spec = Spec(program);
    Write("work/value.py", "VALUE = 'old'\n");
    Write("work/.gitignore", "data/\n");
    Git({"init", "-q"});
    Git({"add", "."});
    Git({"commit", "-q", "-m", "old"});
    Write("work/value.py", "VALUE = 'new'\n");
    Git({"commit", "-q", "-a", "-m", "new"});
    Write("work/data/set", "numbers");
    spec.a.git_ref = "HEAD~1";
    spec.b.git_ref = "HEAD";
  }
  PairSpec spec;
};

std::string Stdout(const SideReport& side) { return ReadText(side.run.directory + "/stdout.log"); }

constexpr char kProgram[] =
    "import torch, os, value\nprint(value.VALUE, os.path.exists('data/set'))\n";

TEST_CASE("Two revisions run in worktrees that are removed afterwards") {
  const Repository repository(kProgram);
  Runner runner(repository.Store());
  CHECK(Preflight(repository.spec).empty());
  const PairReport report = RunPairToEnd(runner, repository.spec);
  REQUIRE(report.status == "complete");
  CHECK(Stdout(report.sides[0]) == "old False\n");
  CHECK(Stdout(report.sides[1]) == "new False\n");
  CHECK(Warns(report, "data/"));
  CHECK_FALSE(Warns(report, "incomparable"));
  CHECK_FALSE(fs::exists(repository.File("home/pairs/p1/work-a.1")));
  CHECK_FALSE(fs::exists(repository.File("work/.git/worktrees")));
}

TEST_CASE("link carries untracked paths into the worktrees") {
  Repository repository(kProgram);
  repository.spec.link = {"data"};
  Runner runner(repository.Store());
  const PairReport report = RunPairToEnd(runner, repository.spec);
  REQUIRE(report.status == "complete");
  CHECK(Stdout(report.sides[0]) == "old True\n");
  CHECK_FALSE(Warns(report, "data/"));
  CHECK(ReadText(repository.File("work/data/set")) == "numbers");
}

TEST_CASE("A program named relative to the workdir may be untracked") {
  Repository repository(kProgram);
  repository.Write("work/.venv/bin/python3", "#!/bin/sh\nexec python3 \"$@\"\n", true);
  repository.spec.a.argv[0] = repository.spec.b.argv[0] = ".venv/bin/python3";
  Runner runner(repository.Store());
  const PairReport report = RunPairToEnd(runner, repository.spec);
  CHECK(report.status == "complete");
}

TEST_CASE("A workdir below the root stays below the root of the worktree") {
  Repository repository(kProgram);
  repository.Write("work/sub/go.py", "import torch, os\nprint(os.path.basename(os.getcwd()))\n");
  repository.Git({"add", "sub"});
  repository.Git({"commit", "-q", "-m", "sub"});
  for (SideSpec* side : {&repository.spec.a, &repository.spec.b}) {
    side->git_ref = "main";
    side->workdir = repository.File("work/sub");
    side->argv = {"python3", "go.py"};
  }
  CHECK(Preflight(repository.spec).empty());
  Runner runner(repository.Store());
  const PairReport report = RunPairToEnd(runner, repository.spec);
  CHECK(Stdout(report.sides[0]) == "sub\n");
}

TEST_CASE("Sources imported from the original tree make the sides incomparable") {
  Repository repository(
      "import sys, os\nsys.path.insert(0, os.environ['EDITABLE'])\nimport torch, value\n");
  repository.spec.a.env["EDITABLE"] = repository.spec.b.env["EDITABLE"] = repository.File("work");
  Runner runner(repository.Store());
  const PairReport report = RunPairToEnd(runner, repository.spec);
  CHECK(report.status == "complete");
  CHECK(Warns(report, "incomparable"));
  CHECK(Warns(report, repository.File("work/value.py")));
}

TEST_CASE("Preflight checks revisions and what they hold") {
  Repository repository(kProgram);
  const auto only_code = [&]() -> std::string {
    const auto problems = Preflight(repository.spec, repository.File("home"));
    REQUIRE(problems.size() == 1);
    CHECK_FALSE(problems[0].fix.empty());
    return problems[0].code;
  };
  repository.spec.b.git_ref = "no-such-branch";
  CHECK(only_code() == "revision");
  repository.spec.b.git_ref = "HEAD";
  repository.spec.link = {"nothing"};
  CHECK(only_code() == "link");
  repository.spec.link.clear();
  repository.Write("work/later.py", "");
  repository.spec.b.argv = {"python3", "later.py"};
  CHECK(only_code() == "script");
  repository.spec.b.argv = {"python3", repository.File("work/train.py")};
  CHECK(only_code() == "absolute_path");
  fs::remove_all(repository.File("work/.git"));
  repository.spec.b.argv = repository.spec.a.argv;
  CHECK(only_code() == "repository");
}

}  // namespace
}  // namespace opguard::runner
