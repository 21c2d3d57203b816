#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <thread>

#include "runner/build_capture.h"
#include "runner/environment.h"
#include "runner/interpreter.h"
#include "runner/process.h"
#include "runner/torch_test_support.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;
using testing::Folder;
using testing::kPython;
using testing::Skips;
using namespace std::chrono_literals;

TEST_CASE("ProbeTorch describes a real torch") {
  if (Skips(!*kPython, "OPGUARD_PYTHON is not set")) return;
  const auto info = ProbeTorch(kPython);
  REQUIRE_MESSAGE(info, info.error().message);
  CHECK(fs::exists(info->root + "/include/ATen/ATen.h"));
  CHECK(info->key.rfind("torch-" + info->version + "-abi", 0) == 0);
  const auto start = std::chrono::steady_clock::now();
  CHECK(ProbeTorch(kPython));
  CHECK(std::chrono::steady_clock::now() - start < 100ms);  // remembered
}

TEST_CASE("torchrun leads to its own interpreter") {
  if (Skips(!*kPython, "OPGUARD_PYTHON is not set")) return;
  const std::string torchrun = fs::path(kPython).parent_path() / "torchrun";
  if (Skips(!fs::exists(torchrun), "no torchrun beside OPGUARD_PYTHON")) return;
  const auto found = ResolveInterpreter({torchrun, "a.py"}, EnvironmentWith({}), "/");
  REQUIRE(found);
  CHECK(found->certain);
  CHECK(fs::path(found->path).parent_path() == fs::path(kPython).parent_path());
}

TEST_CASE("Ending torchrun ends its workers, which have sessions of their own") {
  if (Skips(!*kPython, "OPGUARD_PYTHON is not set")) return;
  const Folder folder;
  folder.Write("hang.py",
               "import os, time\nopen('pid-%s' % os.environ['RANK'], 'w').write('%d' % "
               "os.getpid())\nos.rename('pid-' + os.environ['RANK'], 'w' + os.environ['RANK'])\n"
               "time.sleep(1000)\n");
  ProcessSpec spec;
  spec.argv = {kPython, "-m",     "torch.distributed.run", "--standalone", "--nproc_per_node",
               "2",     "hang.py"};
  spec.environment = AsList(EnvironmentWith({{"OMP_NUM_THREADS", "1"}}));
  spec.workdir = folder.path();
  spec.stdout_path = folder.path() + "/out";
  spec.stderr_path = folder.path() + "/err";
  auto process = Process::Start(spec);
  REQUIRE(process);
  std::vector<pid_t> workers;
  const auto deadline = std::chrono::steady_clock::now() + 120s;
  for (const char* name : {"/w0", "/w1"}) {
    while (!fs::exists(folder.path() + name) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    REQUIRE_MESSAGE(fs::exists(folder.path() + name), ReadText(spec.stderr_path));
    workers.push_back(std::stoi(ReadText(folder.path() + name)));
  }
  (*process)->Terminate();
  CHECK((*process)->Wait(5s));
  for (const pid_t worker : workers) CHECK(kill(worker, 0) != 0);
}

}  // namespace
}  // namespace opguard::runner
