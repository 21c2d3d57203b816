// Which Python interpreter a command will end up in.
#pragma once

#include <string>
#include <vector>

#include "opguard/store/result.h"
#include "runner/environment.h"

namespace opguard::runner {

struct Interpreter {
  std::string path;             // absolute
  std::string script;           // absolute path of the program file, "" if the command names none
  std::string blocking_option;  // "-I", "-E" or "-S": Python then ignores what OpGuard injects
  bool certain = true;          // false: python on PATH, since the command does not tell
  std::string warning;          // why it is not certain
};

// Follows python itself, wrappers (`env A=1 python`, `nice`, `timeout 10`, `mpirun`), and scripts
// with a Python shebang (torchrun, accelerate, deepspeed, pytest). For `sh -c`, shell scripts and
// other programs it falls back to python3 or python on the side's PATH. Starts no process.
// kMissingTool: the program, or any Python, does not exist.
[[nodiscard]] Result<Interpreter> ResolveInterpreter(const std::vector<std::string>& argv,
                                                     const Environment& environment,
                                                     const std::string& workdir);

}  // namespace opguard::runner
