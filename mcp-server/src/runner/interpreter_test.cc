#include "runner/interpreter.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "runner/files.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;

// A folder with bin/ on PATH, an environment venv/bin and a program.
class Machine {
 public:
  Machine() : folder_(std::move(*TemporaryFolder::Make())) {
    for (const char* name : {"bin", "venv/bin", "work"}) fs::create_directories(File(name));
    for (const char* name : {"bin/python", "bin/python3", "bin/sh", "bin/env", "bin/timeout",
                             "bin/tool", "venv/bin/python", "venv/bin/python3.11"}) {
      Program(name, "binary");
    }
    environment_["PATH"] = File("bin");
  }
  std::string File(const std::string& name) const { return folder_.path() + "/" + name; }
  void Program(const std::string& name, const std::string& text) {
    REQUIRE(WriteText(File(name), text));
    fs::permissions(File(name), fs::perms::owner_all);
  }
  Result<Interpreter> Resolve(const std::vector<std::string>& argv) const {
    return ResolveInterpreter(argv, environment_, File("work"));
  }
  void CheckPath(const std::vector<std::string>& argv, const std::string& expected) const {
    CAPTURE(argv.front());
    const auto found = Resolve(argv);
    REQUIRE(found);
    CHECK(found->path == File(expected));
    CHECK(found->certain);
  }

 private:
  TemporaryFolder folder_;
  Environment environment_;
};

TEST_CASE("ResolveInterpreter takes python from PATH, a relative and an absolute path") {
  const Machine machine;
  machine.CheckPath({"python", "a.py"}, "bin/python");
  machine.CheckPath({"../venv/bin/python3.11", "a.py"}, "venv/bin/python3.11");
  machine.CheckPath({machine.File("venv/bin/python"), "a.py"}, "venv/bin/python");
}

TEST_CASE("ResolveInterpreter follows the shebang of launchers") {
  Machine machine;
  machine.Program("bin/torchrun", "#!" + machine.File("venv/bin/python3.11") + "\nimport x\n");
  machine.Program("bin/accelerate", "#!/usr/bin/env python3\nimport x\n");
  machine.Program("bin/deepspeed", "#!/bin/sh\n'''exec' \"" + machine.File("venv/bin/python") +
                                       "\" \"$0\" \"$@\"\n' '''\n");
  machine.CheckPath({"torchrun", "--nproc_per_node", "2", "a.py"}, "venv/bin/python3.11");
  machine.CheckPath({"accelerate", "launch", "a.py"}, "bin/python3");
  machine.CheckPath({"deepspeed", "a.py"}, "venv/bin/python");
  CHECK(machine.Resolve({"torchrun", "--nproc_per_node", "2", "a.py", "b.py"})->script ==
        machine.File("work/a.py"));
}

TEST_CASE("ResolveInterpreter looks through wrappers and their assignments") {
  const Machine machine;
  machine.CheckPath({"env", "A=1", "-u", "B", "python3", "a.py"}, "bin/python3");
  machine.CheckPath({"timeout", "-k", "5", "10", "env", "A=1", "python", "a.py"}, "bin/python");
  machine.CheckPath({"env", "PATH=" + machine.File("venv/bin"), "python", "a.py"},
                    "venv/bin/python");
}

TEST_CASE("ResolveInterpreter falls back to PATH when a command does not tell") {
  const Machine machine;
  for (const std::vector<std::string>& argv :
       {std::vector<std::string>{"sh", "-c", "python a.py"}, {"tool"}, {"env", "-u", "A"}}) {
    const auto found = machine.Resolve(argv);
    REQUIRE(found);
    CHECK(found->path == machine.File("bin/python3"));
    CHECK_FALSE(found->certain);
    CHECK_FALSE(found->warning.empty());
  }
}

TEST_CASE("ResolveInterpreter takes the .venv of a project for the project's tool") {
  Machine machine;
  machine.Program("bin/uv", "binary");
  CHECK(machine.Resolve({"uv", "run", "a.py"})->path == machine.File("bin/python3"));
  fs::create_directories(machine.File("work/.venv/bin"));
  machine.Program("work/.venv/bin/python", "binary");
  const auto found = machine.Resolve({"uv", "run", "a.py"});
  CHECK(found->path == machine.File("work/.venv/bin/python"));
  CHECK_FALSE(found->certain);
}

TEST_CASE("ResolveInterpreter takes only a launcher's argument for the program") {
  Machine machine;
  machine.Program("bin/mytrain", "#!/usr/bin/env python3\n");
  machine.Program("bin/own.py", "#!/usr/bin/env python3\n");
  CHECK(machine.Resolve({"mytrain", "config.py"})->script.empty());
  CHECK(machine.Resolve({"own.py", "config.py"})->script == machine.File("bin/own.py"));
}

TEST_CASE("ResolveInterpreter finds the program and the options that stop injection") {
  const Machine machine;
  const auto script = [&](const std::vector<std::string>& argv) {
    return machine.Resolve(argv)->script;
  };
  CHECK(script({"python", "-u", "-W", "error", "-Xdev", "a.py", "-I"}) ==
        machine.File("work/a.py"));
  CHECK(script({"python", "-c", "x.py"}).empty());
  CHECK(script({"python", "-m", "pytest", "-q"}).empty());
  CHECK(script({"python", "-m", "torch.distributed.run", "--nproc_per_node=2", "t/a.py"}) ==
        machine.File("work/t/a.py"));
  CHECK(script({"python", "-m", "mypackage", "config.py"}).empty());
  const auto option = [&](const std::vector<std::string>& argv) {
    return machine.Resolve(argv)->blocking_option;
  };
  CHECK(option({"python", "-I", "a.py"}) == "-I");
  CHECK(option({"python", "-uE", "a.py"}) == "-E");
  CHECK(option({"python", "-S", "-c", "1"}) == "-S");
  CHECK(option({"python", "a.py", "-I"}).empty());
  CHECK(option({"python", "-mIES"}).empty());
}

TEST_CASE("ResolveInterpreter names what does not exist") {
  const Machine machine;
  for (const char* program : {"python3.99", "/nonexistent/python", "./python"}) {
    CHECK(machine.Resolve({program, "a.py"}).error().code == ErrorCode::kMissingTool);
  }
  CHECK(ResolveInterpreter({"/bin/sh"}, {{"PATH", "/nonexistent"}}, "/").error().code ==
        ErrorCode::kMissingTool);
  CHECK(machine.Resolve({}).error().code == ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace opguard::runner
