#include "runner/build_capture.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "runner/environment.h"
#include "runner/files.h"
#include "runner/scoped_variable.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;
using testing::ScopedVariable;

void Write(const std::string& path, const std::string& text, bool executable = false) {
  fs::create_directories(fs::path(path).parent_path());
  REQUIRE(WriteText(path, text));
  if (executable) fs::permissions(path, fs::perms::owner_all);
}

// A module named torch that python3 finds first, a cache, and a tree of sources whose build is a
// C++ file of one line.
class Machine {
 public:
  Machine() : folder_(std::move(*TemporaryFolder::Make())) {
    Torch("2.13.0+cpu");
    Write(File("src/capture/python/sitecustomize.py"), "");
    Write(File("src/capture/library.cc"), "int opguard_answer() { return 42; }\n");
    Write(File("src/CMakeLists.txt"),
          "cmake_minimum_required(VERSION 3.25)\nproject(fake CXX)\n"
          "add_library(opguard_capture SHARED capture/library.cc)\n");
  }
  void Torch(const std::string& version) {
    Write(File("py/torch/__init__.py"),
          "__version__ = '" + version +
              "'\nfrom . import version\ndef compiled_with_cxx11_abi(): return True\n");
    Write(File("py/torch/version.py"), "cuda = None\nhip = None\n# " + version + "\n");
  }
  std::string File(const std::string& name) const { return folder_.path() + "/" + name; }
  Result<CaptureLibrary> Build() {
    lines_.clear();
    return BuildCapture("python3", [this](const std::string& line) { lines_.push_back(line); });
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  TemporaryFolder folder_;
  ScopedVariable path_{"PYTHONPATH", folder_.path() + "/py"};
  ScopedVariable cache_{"OPGUARD_CACHE", folder_.path() + "/cache"};
  ScopedVariable root_{"OPGUARD_SOURCE_ROOT", folder_.path() + "/src"};
  std::vector<std::string> lines_;
};

TEST_CASE("ProbeTorch describes an interpreter's torch") {
  Machine machine;
  const auto info = ProbeTorch("python3");
  REQUIRE(info);
  CHECK(info->version == "2.13.0+cpu");
  CHECK(info->root == machine.File("py/torch"));
  CHECK(info->cuda.empty());
  CHECK(info->key == "torch-2.13.0+cpu-abi1-cpu-opguard-" OPGUARD_VERSION);
  CHECK(fs::path(info->python).is_absolute());
  Write(machine.File("py/torch/version.py"), "cuda = '12.8'\nhip = None\n");
  fs::last_write_time(machine.File("py/torch/version.py"), fs::file_time_type::clock::now());
  CHECK(ProbeTorch("python3")->key == "torch-2.13.0+cpu-abi1-cu128-opguard-" OPGUARD_VERSION);
}

TEST_CASE("ProbeTorch refuses what cannot be captured") {
  Machine machine;
  machine.Torch("2.1.2");
  CHECK(ProbeTorch("python3").error().code == ErrorCode::kUnsupportedVersion);
  Write(machine.File("py/torch/__init__.py"), "raise ImportError('libc10.so: no such file')\n");
  CHECK(ProbeTorch("python3").error().code == ErrorCode::kNotFound);
  Write(machine.File("py/torch/__init__.py"), "data = 1\n");
  CHECK(ProbeTorch("python3").error().code == ErrorCode::kUnsupportedVersion);
  Write(machine.File("py/torch/__init__.py"), "raise ModuleNotFoundError(name='torch')\n");
  CHECK(ProbeTorch("python3").error().code == ErrorCode::kNotFound);
  CHECK(ProbeTorch("/nonexistent/python").error().code == ErrorCode::kMissingTool);
  CHECK(ProbeTorch("/bin/false").error().code == ErrorCode::kMissingTool);
  Write(machine.File("bad"), "text", true);
  CHECK(ProbeTorch(machine.File("bad")).error().code == ErrorCode::kMissingTool);
}

TEST_CASE("BuildCapture builds once, and again when the sources change") {
  Machine machine;
  const auto first = machine.Build();
  REQUIRE_MESSAGE(first, first.error().message);
  CHECK(first->built);
  CHECK(first->cache == machine.File("cache"));
  CHECK(first->path == machine.File("cache/") + first->torch.key + "/libopguard_capture.so");
  CHECK(fs::file_size(first->path) > 1000);
  CHECK(machine.lines().size() > 0);
  const auto second = machine.Build();
  REQUIRE(second);
  CHECK_FALSE(second->built);
  CHECK(machine.lines().empty());
  Write(machine.File("src/capture/library.cc"), "int opguard_answer() { return 43; }\n");
  CHECK(machine.Build()->built);
  Write(machine.File("src/capture/library.cc"), "int opguard_answer() { return 44 }\n");
  const auto broken = machine.Build();
  REQUIRE_FALSE(broken);
  CHECK(broken.error().code == ErrorCode::kInternal);
  CHECK(broken.error().message.find("library.cc:1") != std::string::npos);
  CHECK(fs::exists(first->path));
}

TEST_CASE("BuildCapture names what is missing") {
  Machine machine;
  // Only Python: a folder of links is PATH.
  fs::create_directories(machine.File("bin"));
  const auto python = ProbeTorch("python3");
  REQUIRE(python);
  const auto torch = *python;
  const ScopedVariable path("PATH", machine.File("bin"));
  const auto error = BuildCapture(torch, nullptr, nullptr).error();
  CHECK(error.code == ErrorCode::kMissingTool);
  for (const char* package : {"cmake", "ninja-build", "g++", "libsqlite3-dev", "libhwy-dev"}) {
    CHECK(error.fix.find(package) != std::string::npos);
  }
  CHECK(CheckCanBuild(torch).error().code == ErrorCode::kMissingTool);
}

TEST_CASE("BuildCapture names a missing header by its package") {
  Machine machine;
  const auto torch = *ProbeTorch("python3");
  const std::string compiler = FindProgram("c++", EnvironmentWith({}), "/");
  Write(machine.File("c++"),
        "#!/bin/sh\nexec " + compiler + " -nostdinc -I/nonexistent -I. \"$@\"\n", true);
  const ScopedVariable path("CXX", machine.File("c++"));
  const auto error = BuildCapture(torch, nullptr, nullptr).error();
  CHECK(error.code == ErrorCode::kMissingTool);
  CHECK(error.fix ==
        "sudo apt-get install -y libsqlite3-dev libzstd-dev libhwy-dev libexpected-dev");
}

TEST_CASE("BuildCapture needs sources and a writable cache") {
  Machine machine;
  const auto torch = *ProbeTorch("python3");
  {
    const ScopedVariable root("OPGUARD_SOURCE_ROOT", "/nonexistent");
    CHECK(BuildCapture(torch, nullptr, nullptr).error().code == ErrorCode::kNotFound);
  }
  const ScopedVariable cache("OPGUARD_CACHE", "/proc/opguard");
  CHECK(BuildCapture(torch, nullptr, nullptr).error().code == ErrorCode::kIo);
}

TEST_CASE("BuildCapture waits for another process and can be cancelled") {
  Machine machine;
  const auto torch = *ProbeTorch("python3");
  fs::create_directories(machine.File("cache/") + torch.key);
  const int other =
      open((machine.File("cache/") + torch.key + "/lock").c_str(), O_RDWR | O_CREAT, 0644);
  REQUIRE(flock(other, LOCK_EX | LOCK_NB) == 0);
  int asked = 0;
  const auto cancelled = [&asked] { return ++asked == 2; };
  CHECK(BuildCapture(torch, nullptr, cancelled).error().code == ErrorCode::kCancelled);
  CHECK(asked == 2);
  close(other);
}

TEST_CASE("Concurrent builds compile once") {
  Machine machine;
  const auto torch = *ProbeTorch("python3");
  bool built[2] = {false, false};
  std::thread other([&] { built[0] = BuildCapture(torch, nullptr, nullptr)->built; });
  built[1] = BuildCapture(torch, nullptr, nullptr)->built;
  other.join();
  CHECK(built[0] != built[1]);
}

}  // namespace
}  // namespace opguard::runner
