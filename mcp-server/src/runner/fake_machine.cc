#include "runner/fake_machine.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "runner/build_capture.h"
#include "runner/environment.h"
#include "runner/process.h"

namespace opguard::runner::testing {
namespace {

namespace fs = std::filesystem;

// Writes what the real capture would: a trace that is incomplete until the process exits. Files of
// the program's modules become frames.
constexpr char kRecorder[] = R"py(
import atexit, glob, os, sqlite3, sys, urllib.parse
config = dict(item.split("=", 1) for item in os.environ["OPGUARD_CAPTURE"].split(";"))
config = {key: urllib.parse.unquote(value) for key, value in config.items()}
assert glob.glob(config["cache"] + "/torch-2.13.0+cpu-*/libopguard_capture.so"), config
ops = int(os.environ.get("FAKE_OPS", "3"))
if ops:
    rank = os.environ.get("RANK", "0")
    path = "%s/rank%s-%d.opguard" % (config["dir"], rank, os.getpid())
    database = sqlite3.connect(path)
    database.executescript(open(os.environ["FAKE_SCHEMA"]).read())
    facts = {"status": "incomplete", "rank": rank, "role": "rank"}
    database.executemany("INSERT INTO trace VALUES(?, ?)", facts.items())
    database.executemany("INSERT INTO op VALUES(?,1,1,1,0,0,0,0,0,0,1,0,0)",
                         [(i + 1,) for i in range(ops)])
    database.commit()
    def finish():
        for i, module in enumerate(list(sys.modules.values())):
            if getattr(module, "__file__", None):
                database.execute("INSERT INTO frame VALUES(?,?,1,'f',0)", (i + 1, module.__file__))
        database.execute("UPDATE trace SET value = 'complete' WHERE key = 'status'")
        database.commit()
    atexit.register(finish)
)py";

// Compiles the library once for all machines of this process: their sources are equal.
void WarmCache(const std::string& cache) {
  static const TemporaryFolder built = std::move(*TemporaryFolder::Make());
  if (fs::is_empty(built.path())) {
    const ScopedVariable own("OPGUARD_CACHE", built.path());
    REQUIRE(BuildCapture("python3", nullptr));
  }
  fs::copy(built.path(), cache, fs::copy_options::recursive);
}

}  // namespace

FakeMachine::FakeMachine()
    : folder_(std::move(*TemporaryFolder::Make())),
      path_("PYTHONPATH", folder_.path() + "/py"),
      cache_("OPGUARD_CACHE", folder_.path() + "/cache"),
      root_("OPGUARD_SOURCE_ROOT", folder_.path() + "/src") {
  FakeTorch("2.13.0+cpu");
  Write("src/capture/python/sitecustomize.py", "");
  Write("src/capture/python/opguard_recorder.py", kRecorder);
  Write("src/capture/library.cc", "int opguard_answer() { return 42; }\n");
  Write("src/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.25)\nproject(fake CXX)\n"
        "add_library(opguard_capture SHARED capture/library.cc)\n");
  WarmCache(File("cache"));
}

void FakeMachine::Write(const std::string& name, const std::string& text, bool executable) const {
  const std::string path = File(name);
  fs::create_directories(fs::path(path).parent_path());
  REQUIRE(WriteText(path, text));
  if (executable) fs::permissions(path, fs::perms::owner_all);
}

void FakeMachine::FakeTorch(const std::string& version) const {
  Write("py/torch/__init__.py",
        "import os\n__version__ = '" + version +
            "'\nfrom . import version\n"
            "def compiled_with_cxx11_abi(): return True\n"
            "if 'OPGUARD_CAPTURE' in os.environ: import opguard_recorder\n");
  Write("py/torch/version.py", "cuda = None\nhip = None\n# " + version + "\n");
}

PairSpec FakeMachine::Spec(const std::string& program,
                           const std::vector<std::string>& arguments) const {
  Write("work/train.py", program);
  PairSpec spec;
  spec.a.argv = {"python3", "train.py"};
  spec.a.argv.insert(spec.a.argv.end(), arguments.begin(), arguments.end());
  spec.a.workdir = File("work");
  spec.a.env["FAKE_SCHEMA"] = OPGUARD_SOURCE_DIR "/schemas/trace.sql";
  spec.b = spec.a;
  return spec;
}

void FakeMachine::Git(const std::vector<std::string>& arguments) const {
  std::vector<std::string> argv{"git",
                                "-c",
                                "user.name=x",
                                "-c",
                                "user.email=x@example.org",
                                "-c",
                                "init.defaultBranch=main"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const auto output =
      RunToEnd(argv, AsList(EnvironmentWith({})), File("work"), std::chrono::minutes(1));
  REQUIRE(output);
  REQUIRE_MESSAGE(output->ok(), output->err);
}

PairReport WaitForEnd(Runner& runner, const std::string& pair_id) {
  runner.Wait(pair_id, std::chrono::minutes(1), nullptr);
  auto report = runner.Report(pair_id);
  REQUIRE(report);
  return *report;
}

PairReport RunPairToEnd(Runner& runner, const PairSpec& spec) {
  const auto id = runner.Start(spec);
  REQUIRE(id);
  return WaitForEnd(runner, *id);
}

bool Warns(const PairReport& report, const std::string& text) {
  for (const std::string& warning : report.warnings) {
    if (warning.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace opguard::runner::testing
