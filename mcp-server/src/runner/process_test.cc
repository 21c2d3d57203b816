#include "runner/process.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "runner/descendants.h"
#include "runner/files.h"

namespace opguard::runner {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kEnvironment{"PATH=/usr/bin:/bin", "COLOUR=blue"};

class Sandbox {
 public:
  Sandbox() : folder_(std::move(*TemporaryFolder::Make())) {}
  ProcessSpec Spec(const std::string& shell) const {
    ProcessSpec spec;
    spec.argv = {"sh", "-c", shell};
    spec.environment = kEnvironment;
    spec.workdir = folder_.path();
    spec.stdout_path = File("out");
    spec.stderr_path = File("err");
    return spec;
  }
  std::string File(const std::string& name) const { return folder_.path() + "/" + name; }
  // Waits for the line count that the shell code writes into "pids", and reads them.
  std::vector<pid_t> Pids(std::size_t count) const {
    std::vector<pid_t> pids;
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (pids.size() < count && std::chrono::steady_clock::now() < deadline) {
      pids.clear();
      for (const auto& line : SplitLines(ReadText(File("pids")))) pids.push_back(std::stoi(line));
      std::this_thread::yield();
    }
    REQUIRE(pids.size() == count);
    return pids;
  }

 private:
  TemporaryFolder folder_;
};

bool Lives(pid_t pid) {
  const std::string stat = ReadText("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = stat.rfind(')');
  return name_end != std::string::npos && stat[name_end + 2] != 'Z';
}

void CheckNoneLives(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    CAPTURE(pid);
    CHECK_FALSE(Lives(pid));
  }
}

// A shell, a child, a grandchild in a session of its own, and a daemon whose parents are gone and
// which has emptied its environment.
constexpr char kFamily[] =
    "echo $$ >>pids; "
    "sh -c 'echo $$ >>pids; setsid sh -c \"echo \\$\\$ >>pids; exec sleep 1000\" & exec sleep "
    "1000' & "
    "(setsid env -i /bin/sh -c 'echo $$ >>pids; exec /bin/sleep 1000' &) ; "
    "wait; exec sleep 1000";

TEST_CASE("Process gives exit code, output, environment and folder") {
  const Sandbox box;
  auto process = Process::Start(box.Spec("echo $COLOUR; pwd; cat; echo oops >&2; exit 7"));
  REQUIRE(process);
  const auto ending = (*process)->Wait(20s);
  REQUIRE(ending);
  CHECK(ending->exit_code == 7);
  CHECK(ending->signal == 0);
  CHECK(ending->leftovers == 0);
  CHECK(ReadText(box.File("out")) ==
        "blue\n" + box.File("").substr(0, box.File("").size() - 1) + "\n");
  CHECK(ReadText(box.File("err")) == "oops\n");
}

TEST_CASE("Process tells the signal that ended the command") {
  const Sandbox box;
  auto process = Process::Start(box.Spec("kill -SEGV $$"));
  REQUIRE(process);
  const auto ending = (*process)->Wait(20s);
  REQUIRE(ending);
  CHECK_FALSE(ending->exit_code);
  CHECK(ending->signal == SIGSEGV);
}

TEST_CASE("Process reports what cannot be started") {
  const Sandbox box;
  ProcessSpec spec = box.Spec("true");
  spec.argv = {"no-such-program"};
  CHECK(Process::Start(spec).error().code == ErrorCode::kNotFound);
  spec.argv = {};
  CHECK(Process::Start(spec).error().code == ErrorCode::kInvalidArgument);
  spec = box.Spec("true");
  spec.workdir = "/nonexistent";
  CHECK(Process::Start(spec).error().code == ErrorCode::kNotFound);
  spec = box.Spec("true");
  spec.stderr_path = "/nonexistent/err";
  CHECK(Process::Start(spec).error().code == ErrorCode::kNotFound);
  spec = box.Spec("true");
  spec.argv = {box.File("plain")};
  std::ofstream(box.File("plain")) << "text";
  CHECK(Process::Start(spec).error().code == ErrorCode::kIo);
}

TEST_CASE("Process bounds its logs") {
  const Sandbox box;
  ProcessSpec spec = box.Spec("i=0; while [ $i -lt 20000 ]; do echo line$i; i=$((i+1)); done");
  spec.limits = {1000, 2000};
  auto process = Process::Start(spec);
  REQUIRE(process);
  REQUIRE((*process)->Wait(30s));
  const std::string log = ReadText(box.File("out"));
  CHECK(log.size() < 3100);
  CHECK(log.substr(0, 6) == "line0\n");
  CHECK(log.substr(log.size() - 10) == "line19999\n");
}

TEST_CASE("Process::Wait answers nothing while the command runs") {
  const Sandbox box;
  auto process = Process::Start(box.Spec("exec sleep 1000"));
  REQUIRE(process);
  CHECK_FALSE((*process)->Wait(1ms));
  CHECK(Lives((*process)->pid()));
}

TEST_CASE("Process::Terminate ends children, other sessions and daemons") {
  const Sandbox box;
  auto process = Process::Start(box.Spec(kFamily));
  REQUIRE(process);
  const auto pids = box.Pids(4);
  (*process)->Terminate();
  const auto ending = (*process)->Wait(10s);
  REQUIRE(ending);
  CHECK(ending->signal == SIGTERM);
  CheckNoneLives(pids);
}

TEST_CASE("Process::Terminate kills what ignores SIGTERM") {
  const Sandbox box;
  ProcessSpec spec = box.Spec(
      "trap '' TERM; (trap '' TERM; echo x >>pids; while :; do sleep 1000; done) & "
      "while :; do sleep 1000; done");
  spec.kill_after = 100ms;
  auto process = Process::Start(spec);
  REQUIRE(process);
  while (ReadText(box.File("pids")).empty()) std::this_thread::yield();
  const auto family = Descendants((*process)->pid());
  (*process)->Terminate();
  const auto ending = (*process)->Wait(10s);
  REQUIRE(ending);
  CHECK(ending->signal == SIGKILL);
  CheckNoneLives(family);
}

TEST_CASE("Process leaves nothing behind when it is destroyed") {
  const Sandbox box;
  std::vector<pid_t> pids;
  {
    auto process = Process::Start(box.Spec(kFamily));
    REQUIRE(process);
    pids = box.Pids(4);
  }
  CheckNoneLives(pids);
}

TEST_CASE("Process ends and counts what the command left running") {
  const Sandbox box;
  ProcessSpec spec = box.Spec(
      "(setsid sh -c 'echo $$ >>pids; exec sleep 1000' &); while ! [ -s pids ]; do :; done");
  spec.leftover_grace = 50ms;
  auto process = Process::Start(spec);
  REQUIRE(process);
  const auto ending = (*process)->Wait(20s);
  REQUIRE(ending);
  CHECK(ending->exit_code == 0);
  CHECK(ending->leftovers == 1);
  CheckNoneLives(box.Pids(1));
}

TEST_CASE("Process waits for what the command left running within the grace") {
  const Sandbox box;
  ProcessSpec spec = box.Spec("(sleep 0.1; echo late) &");
  spec.leftover_grace = 20s;
  auto process = Process::Start(spec);
  REQUIRE(process);
  const auto ending = (*process)->Wait(20s);
  REQUIRE(ending);
  CHECK(ending->leftovers == 0);
  CHECK(ReadText(box.File("out")) == "late\n");
}

TEST_CASE("Children end when the server is killed") {
  const Sandbox box;
  const pid_t server = fork();
  REQUIRE(server >= 0);
  if (server == 0) {
    auto process = Process::Start(box.Spec(kFamily));
    for (;;) pause();
  }
  const auto pids = box.Pids(4);
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  for (const pid_t pid : pids) {
    while (Lives(pid) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  }
  CheckNoneLives(pids);
}

TEST_CASE("A lock is held until the last descendant is gone") {
  const Sandbox box;
  ProcessSpec spec = box.Spec("exec sleep 1000");
  spec.lock_path = box.File("lock");
  auto first = Process::Start(spec);
  REQUIRE(first);
  CHECK(Process::Start(spec).error().code == ErrorCode::kIncomplete);
  first->reset();
  CHECK(Process::Start(spec));
}

TEST_CASE("RunToEnd gives both streams and ends at the timeout") {
  const auto done = RunToEnd({"sh", "-c", "echo a; echo b >&2"}, kEnvironment, "/", 20s);
  REQUIRE(done);
  CHECK(done->ok());
  CHECK(done->out == "a\n");
  CHECK(done->err == "b\n");
  const auto slow = RunToEnd({"sleep", "1000"}, kEnvironment, "/", 10ms);
  REQUIRE(slow);
  CHECK(slow->timed_out);
  CHECK_FALSE(slow->ok());
}

}  // namespace
}  // namespace opguard::runner
