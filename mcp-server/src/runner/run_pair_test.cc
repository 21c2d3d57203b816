#include "runner/run_pair.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "runner/fake_machine.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using analysis::RunState;
using analysis::Side;
using testing::FakeMachine;
using testing::RunPairToEnd;
using testing::WaitForEnd;
using testing::Warns;

constexpr char kTrain[] = "import torch\nprint('trained')\n";
// Tells its process id and hangs, with a child in a session of its own.
constexpr char kHang[] =
    "import torch, os, subprocess, sys\n"
    "child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
    "with open(os.environ.get('PIDS', 'pids') + '.new', 'w') as f:\n"
    "    f.write('%d\\n%d\\n' % (os.getpid(), child.pid))\n"
    "os.rename(f.name, f.name[:-4])\n"
    "child.wait()\n";

std::vector<pid_t> WaitForPids(const std::string& path) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!fs::exists(path) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  std::vector<pid_t> pids;
  for (const auto& line : SplitLines(ReadText(path))) pids.push_back(std::stoi(line));
  REQUIRE(pids.size() == 2);
  return pids;
}

TEST_CASE("Runner runs A, then B, and reports both") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  PairSpec spec = machine.Spec(kTrain);
  spec.label = "replay";
  spec.b.env["FAKE_OPS"] = "5";
  const PairReport report = RunPairToEnd(runner, spec);
  CHECK(report.pair_id == "p1");
  CHECK(report.status == "complete");
  CHECK(report.warnings.empty());
  REQUIRE(report.sides.size() == 2);
  for (const SideReport& side : report.sides) {
    CHECK(side.run.state == RunState::kComplete);
    CHECK(side.run.exit_code == 0);
    CHECK(side.trace_state == "complete");
    CHECK(side.traces.size() == 1);
    CHECK(side.bytes > 0);
    CHECK(ReadText(side.run.directory + "/stdout.log") == "trained\n");
  }
  CHECK(report.sides[0].run.side == Side::kA);
  CHECK(report.sides[0].ops == 3);
  CHECK(report.sides[1].ops == 5);
  CHECK(report.sides[0].run.finished_unix_ms <= report.sides[1].run.started_unix_ms);
}

TEST_CASE("Repeats run as A1 B1 A2 B2") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  PairSpec spec = machine.Spec("import torch, os\nopen('order', 'a').write(os.environ['SIDE'])\n");
  spec.a.env["SIDE"] = "a";
  spec.b.env["SIDE"] = "b";
  spec.repeats = 2;
  const PairReport report = RunPairToEnd(runner, spec);
  CHECK(report.status == "complete");
  CHECK(report.sides.size() == 4);
  CHECK(report.sides[2].run.repeat == 2);
  CHECK(report.sides[2].run.directory == machine.File("home/pairs/p1/a.2"));
  CHECK(ReadText(machine.File("work/order")) == "abab");
}

TEST_CASE("The command gets the capture configuration and keeps its own variables") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  PairSpec spec = machine.Spec(
      "import torch, os\n"
      "for n in 'PYTHONPATH', 'OPGUARD_CAPTURE', 'PYTHONHASHSEED', 'CUBLAS_WORKSPACE_CONFIG':\n"
      "    print(os.environ.get(n))\n");
  spec.b.env["PYTHONPATH"] = machine.File("mine") + ":" + machine.File("py");
  spec.b.env["PYTHONHASHSEED"] = "7";
  spec.mode = "trusted";
  spec.level = "inner";
  spec.determinism = "on";
  spec.from_step = 2;
  spec.steps = 3;
  spec.stop_after_steps = true;
  const PairReport report = RunPairToEnd(runner, spec);
  REQUIRE(report.status == "complete");
  const auto lines = [&](std::size_t i) {
    return SplitLines(ReadText(report.sides[i].run.directory + "/stdout.log"));
  };
  const std::string shim = fs::canonical(machine.File("src/capture/python")).string();
  CHECK(lines(0)[0] == shim + ":" + machine.File("py"));
  CHECK(lines(1)[0] == shim + ":" + machine.File("mine") + ":" + machine.File("py"));
  CHECK(lines(0)[1] == "dir=" + machine.File("home/pairs/p1/a.1") +
                           ";cache=" + machine.File("cache") +
                           ";mode=trusted;level=inner;from_step=2;steps=3;determinism=on;"
                           "stop_after_steps=1");
  CHECK(lines(0)[2] == "0");
  CHECK(lines(0)[3] == ":4096:8");
  CHECK(lines(1)[2] == "7");
}

TEST_CASE("A failing command keeps its trace, and B runs all the same") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  PairSpec spec = machine.Spec(
      "import torch, os, sys\nprint('about to crash', file=sys.stderr)\n"
      "if os.environ.get('KILL'): os.kill(os.getpid(), 9)\nsys.exit(3)\n");
  spec.b.env["KILL"] = "1";
  const PairReport report = RunPairToEnd(runner, spec);
  CHECK(report.status == "failed");
  const SideReport &a = report.sides[0], &b = report.sides[1];
  CHECK(a.run.state == RunState::kFailed);
  CHECK(a.run.exit_code == 3);
  CHECK(a.ops == 3);
  CHECK(a.trace_state == "complete");
  CHECK(a.stderr_tail == std::vector<std::string>{"about to crash"});
  CHECK_FALSE(b.run.exit_code);
  CHECK(b.run.signal == SIGKILL);
  CHECK(b.ops == 3);
  CHECK(b.trace_state == "incomplete");
}

TEST_CASE("A run that captured nothing fails and names the causes") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  const PairReport report = RunPairToEnd(runner, machine.Spec("print('no torch')\n"));
  CHECK(report.status == "failed");
  CHECK(report.sides[0].run.state == RunState::kFailed);
  CHECK(report.sides[0].run.exit_code == 0);
  CHECK(report.sides[0].trace_state == "none");
  CHECK(report.sides[1].run.state == RunState::kPlanned);
  for (const char* cause : {"-I", "-E", "-S", "PYTHONPATH", "container"}) {
    CHECK(Warns(report, cause));
  }
}

TEST_CASE("Notes of processes are reported instead of guesses") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  const PairReport report = RunPairToEnd(
      runner,
      machine.Spec(
          "import os\n"
          "folder = os.environ['OPGUARD_CAPTURE'].split(';')[0][4:]\n"
          "for pid in 1, 2:\n"
          "    open(folder + '/note-%d.txt' % pid, 'w').write('no_library\\tbuild it\\n')\n"));
  CHECK(report.status == "failed");
  CHECK(report.sides[0].notes == std::vector<std::string>{"no_library: build it (2 processes)"});
  CHECK(Warns(report, "no_library: build it"));
}

TEST_CASE("A timeout ends the run and keeps what it captured") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  PairSpec spec = machine.Spec(kHang);
  spec.timeout = 1s;
  const PairReport report = RunPairToEnd(runner, spec);
  CHECK(report.status == "failed");
  for (const SideReport& side : report.sides) {
    CHECK(side.run.state == RunState::kTimedOut);
    CHECK(side.ops == 3);
    CHECK(side.trace_state == "incomplete");
  }
  CHECK(Warns(report, "timeout_s=1"));
  REQUIRE(runner.Resume(report.pair_id));
  CHECK(runner.Report(report.pair_id)->status == "failed");
}

TEST_CASE("Cancel ends all descendants within two seconds; Resume runs the rest") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  PairSpec spec = machine.Spec(kTrain);
  spec.b.argv = {"python3", "other.py"};
  machine.Write("work/other.py", kHang);
  const auto id = runner.Start(spec);
  REQUIRE(id);
  const auto pids = WaitForPids(machine.File("work/pids"));
  CHECK(runner.Report(*id)->status == "running");
  const auto start = std::chrono::steady_clock::now();
  runner.Cancel(*id);
  const PairReport cancelled = WaitForEnd(runner, *id);
  CHECK(std::chrono::steady_clock::now() - start < 2500ms);
  CHECK(cancelled.status == "cancelled");
  CHECK(cancelled.sides[0].run.state == RunState::kComplete);
  CHECK(cancelled.sides[1].run.state == RunState::kCancelled);
  CHECK(cancelled.sides[1].trace_state == "incomplete");
  for (const pid_t pid : pids) CHECK(kill(pid, 0) != 0);
  machine.Write("work/other.py", kTrain);
  REQUIRE(runner.Resume(*id));
  const PairReport resumed = WaitForEnd(runner, *id);
  CHECK(resumed.status == "complete");
  CHECK(resumed.sides[0].run.pid == cancelled.sides[0].run.pid);
  CHECK(fs::exists(machine.File("home/pairs/p1/b.1.interrupted")));
  REQUIRE(runner.Resume(*id));
  CHECK(runner.Report(*id)->sides[1].run.pid == resumed.sides[1].run.pid);
}

TEST_CASE("Destroying a Runner ends what it runs") {
  const FakeMachine machine;
  std::vector<pid_t> pids;
  {
    Runner runner(machine.Store());
    REQUIRE(runner.Start(machine.Spec(kHang)));
    pids = WaitForPids(machine.File("work/pids"));
  }
  for (const pid_t pid : pids) CHECK(kill(pid, 0) != 0);
  CHECK(Runner(machine.Store()).Report("p1")->status == "cancelled");
}

TEST_CASE("A pair survives the server's SIGKILL and is taken up by another") {
  const FakeMachine machine;
  PairSpec spec = machine.Spec(kTrain);
  spec.b.argv = {"python3", "other.py"};
  machine.Write("work/other.py", kHang);
  const pid_t server = fork();
  if (server == 0) {
    Runner runner(machine.Store());
    const auto id = runner.Start(spec);
    for (;;) pause();
  }
  const auto pids = WaitForPids(machine.File("work/pids"));
  Runner runner(machine.Store());
  CHECK(runner.Report("p1")->status == "running");
  CHECK(runner.Resume("p1"));  // the other server has it
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  const auto interrupted = runner.Report("p1");
  REQUIRE(interrupted);
  CHECK(interrupted->status == "incomplete");
  machine.Write("work/other.py", kTrain);
  REQUIRE(runner.Resume("p1"));
  const PairReport report = WaitForEnd(runner, "p1");
  CHECK(report.status == "complete");
  CHECK(report.sides[0].run.pid == interrupted->sides[0].run.pid);
  for (const pid_t pid : pids) CHECK(kill(pid, 0) != 0);
}

TEST_CASE("Several pairs run at once, and a second Runner sees them") {
  const FakeMachine machine;
  Runner one(machine.Store()), two(machine.Store());
  PairSpec first = machine.Spec(kHang), second = first;
  first.a.env["PIDS"] = machine.File("first");
  second.a.env["PIDS"] = machine.File("second");
  const auto first_id = one.Start(first), second_id = two.Start(second);
  WaitForPids(machine.File("first"));
  WaitForPids(machine.File("second"));
  CHECK(*first_id != *second_id);
  CHECK(two.Report(*first_id)->status == "running");
  int told = 0;
  two.Wait(*first_id, 60s, [&](const PairReport& report) {
    CHECK(report.phase == "running A");
    return ++told < 2;
  });
  CHECK(told == 2);
  one.Cancel(*first_id);
  WaitForEnd(two, *first_id);
  CHECK(two.Report(*first_id)->status == "cancelled");
  CHECK(one.Report(*second_id)->status == "running");
  two.Cancel("");
  CHECK(WaitForEnd(two, *second_id).status == "cancelled");
}

TEST_CASE("Files that A leaves for B are named; isolate gives each run its own copy") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  PairSpec spec = machine.Spec(
      "import torch, os\nprint(os.path.exists('checkpoint.pt'))\nopen('checkpoint.pt', 'w')\n");
  const PairReport shared = RunPairToEnd(runner, spec);
  CHECK(ReadText(shared.sides[1].run.directory + "/stdout.log") == "True\n");
  CHECK(Warns(shared, "checkpoint.pt"));
  fs::remove(machine.File("work/checkpoint.pt"));
  machine.Write("work/data/x", "kept");
  spec.isolate = true;
  const PairReport isolated = RunPairToEnd(runner, spec);
  CHECK(isolated.status == "complete");
  CHECK(ReadText(isolated.sides[1].run.directory + "/stdout.log") == "False\n");
  CHECK_FALSE(fs::exists(machine.File("work/checkpoint.pt")));
  CHECK_FALSE(Warns(isolated, "checkpoint.pt"));
  CHECK_FALSE(fs::exists(machine.File("home/pairs/p2/work-a.1")));
}

TEST_CASE("A compile cache that A filled for B is named") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  PairSpec spec = machine.Spec(
      "import torch, os\nfolder = os.environ['TRITON_CACHE_DIR']\n"
      "os.makedirs(folder, exist_ok=True)\nopen(folder + '/kernel', 'w')\n");
  spec.a.env["TRITON_CACHE_DIR"] = spec.b.env["TRITON_CACHE_DIR"] = machine.File("kernels");
  CHECK(Warns(RunPairToEnd(runner, spec), "A compiled into " + machine.File("kernels")));
  fs::remove_all(machine.File("kernels"));
  spec.b.env["TRITON_CACHE_DIR"] = machine.File("other");
  CHECK_FALSE(Warns(RunPairToEnd(runner, spec), "A compiled into"));
}

TEST_CASE("isolate copies a workdir that holds the pair store itself") {
  const FakeMachine machine;
  const analysis::PairStore store(machine.File("work/deep/.opguard"));
  Runner runner(store);
  PairSpec spec = machine.Spec("import torch, os\nprint(sorted(os.listdir('deep')))\n");
  machine.Write("work/deep/file", "x");
  spec.isolate = true;
  const PairReport report = RunPairToEnd(runner, spec);
  CHECK(report.status == "complete");
  CHECK(ReadText(report.sides[0].run.directory + "/stdout.log") == "['file']\n");
}

TEST_CASE("A problem while preparing is told and leaves the pair to be resumed") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  machine.Write("src/capture/library.cc", "not C++\n");
  const PairReport failed = RunPairToEnd(runner, machine.Spec(kTrain));
  CHECK(failed.status == "failed");
  CHECK(failed.sides[0].run.state == RunState::kPlanned);
  CHECK(Warns(failed, "library.cc"));
  machine.Write("src/capture/library.cc", "int answer() { return 1; }\n");
  REQUIRE(runner.Resume(failed.pair_id));
  CHECK(WaitForEnd(runner, failed.pair_id).status == "complete");
}

TEST_CASE("Unknown pairs are answered with kNotFound") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  CHECK(runner.Report("p7").error().code == ErrorCode::kNotFound);
  CHECK(runner.Resume("p7").error().code == ErrorCode::kNotFound);
  runner.Cancel("p7");
  runner.Wait("p7", 10s, nullptr);
}

TEST_CASE("Record runs one command on this terminal and reports side A") {
  const FakeMachine machine;
  Runner runner(machine.Store());
  const PairSpec options;
  const SideSpec side =
      machine.Spec("import torch, sys\nopen('tty', 'w').write('x')\nsys.exit(4)\n").a;
  std::vector<std::string> lines;
  const auto report =
      runner.Record(side, options, [&](const std::string& line) { lines.push_back(line); });
  REQUIRE(report);
  REQUIRE(report->sides.size() == 1);
  CHECK(report->sides[0].run.exit_code == 4);
  CHECK(report->sides[0].ops == 3);
  CHECK(ReadText(machine.File("work/tty")) == "x");
  CHECK(lines.back() == "checking A");
  CHECK_FALSE(fs::exists(report->sides[0].run.directory + "/stdout.log"));
  CHECK(runner.Resume(report->pair_id));
}

}  // namespace
}  // namespace opguard::runner
