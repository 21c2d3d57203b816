#include "runner/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "runner/files.h"

namespace opguard::runner {
namespace {

using Words = std::vector<std::string>;

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool IsPythonName(const std::string& name) {
  for (const std::string_view prefix : {"python", "pypy"}) {
    if (name.rfind(prefix, 0) != 0) continue;
    const auto rest = std::string_view(name).substr(prefix.size());
    return std::all_of(rest.begin(), rest.end(), [](char c) {
      return std::isdigit(static_cast<unsigned char>(c)) || c == '.' || c == 'd' || c == 't';
    });
  }
  return false;
}

// Programs that run another command given in their arguments.
bool IsWrapper(const std::string& name) {
  static constexpr std::array kNames{
      "env",     "nice",   "nohup",  "time",    "timeout", "stdbuf",   "numactl",  "setsid",
      "taskset", "ionice", "mpirun", "mpiexec", "srun",    "xvfb-run", "unbuffer", "catchsegv"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Programs whose first argument NAME.py is the training program.
bool IsLauncher(const std::string& name) {
  static constexpr std::array kNames{"torchrun",   "accelerate", "deepspeed", "horovodrun",
                                     "colossalai", "composer",   "lightning", "fabric"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool IsLauncherModule(const std::string& name) {
  return name.rfind("torch.distributed.", 0) == 0 || name.rfind("accelerate.", 0) == 0 ||
         name.rfind("deepspeed.", 0) == 0;
}

// Tools that run a command in the environment of a project, by custom its .venv folder.
bool IsProjectTool(const std::string& name) {
  static constexpr std::array kNames{"uv", "poetry", "pdm", "pipenv", "hatch", "rye"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool EndsWithPy(const std::string& word) {
  return word.size() > 3 && word.compare(word.size() - 3, 3, ".py") == 0 && word[0] != '-';
}

bool IsAssignment(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word[0] != '-' &&
         word.substr(0, equals).find('/') == std::string::npos;
}

// The words of a shebang, without "#!"; for pip's long form (`#!/bin/sh`, then `'''exec' PATH`)
// the words after exec. Empty if the file has none.
Words ShebangOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string first(4096, '\0');
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  first.resize(static_cast<std::size_t>(file.gcount()));
  if (first.rfind("#!", 0) != 0) return {};
  const std::size_t line_end = first.find('\n');
  std::string line = first.substr(2, line_end == std::string::npos ? line_end : line_end - 2);
  constexpr std::string_view kExec = "\n'''exec' ";
  if (line_end != std::string::npos && first.compare(line_end, kExec.size(), kExec) == 0) {
    const std::size_t begin = line_end + kExec.size();
    line = first.substr(begin, first.find('\n', begin) - begin);
    if (line.rfind('"', 0) == 0) return {line.substr(1, line.find('"', 1) - 1)};
  }
  Words words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

class Resolver {
 public:
  Resolver(Environment environment, const std::string& workdir)
      : environment_(std::move(environment)), workdir_(workdir) {}

  Result<Interpreter> Resolve(const Words& argv) {
    if (argv.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "the command is empty", "give a command");
    }
    return Program(argv, 0);
  }

 private:
  std::string Find(const std::string& name) const {
    return FindProgram(name, environment_, workdir_);
  }
  Result<Interpreter> Program(const Words& argv, int depth);
  Interpreter Python(const std::string& path, const Words& argv) const;
  Result<Interpreter> Wrapped(const Words& argv, int depth);
  Result<Interpreter> Guess(const std::string& why) const;
  std::optional<Interpreter> FromShebang(const std::string& path, const Words& argv) const;

  Environment environment_;
  const std::string& workdir_;
};

Result<Interpreter> Resolver::Program(const Words& argv, int depth) {
  const std::string path = Find(argv[0]);
  if (path.empty()) {
    return Fail(ErrorCode::kMissingTool,
                fmt::format("{} is not an executable file{}", argv[0],
                            argv[0].find('/') == std::string::npos ? " on PATH" : ""),
                "give the program's absolute path, or install it");
  }
  const std::string name = BaseName(argv[0]);
  if (IsPythonName(name)) return Python(path, argv);
  if (IsWrapper(name) && depth < 8) return Wrapped(argv, depth);
  if (auto found = FromShebang(path, argv)) return *found;
  return Guess(name);
}

// The options of python itself end at the program: a file, -m or -c.
Interpreter Resolver::Python(const std::string& path, const Words& argv) const {
  Interpreter found;
  found.path = path;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word.empty() || word == "-") break;
    if (word[0] != '-') {
      found.script = Absolute(word, workdir_);
      break;
    }
    if (word == "-W" || word == "-X" || word == "--check-hash-based-pycs") {
      ++i;
      continue;
    }
    if (word[1] == '-' || word[1] == 'W' || word[1] == 'X') continue;
    bool ends = false;
    for (const char letter : word.substr(1)) {
      if (letter == 'I' || letter == 'E' || letter == 'S') {
        found.blocking_option = std::string("-") + letter;
      }
      ends = letter == 'm' || letter == 'c';
      if (ends) break;
    }
    if (!ends) continue;
    if (word.back() == 'm' && i + 1 < argv.size() && IsLauncherModule(argv[i + 1])) {
      const auto script = std::find_if(argv.begin() + static_cast<long>(i), argv.end(), EndsWithPy);
      if (script != argv.end()) found.script = Absolute(*script, workdir_);
    }
    break;
  }
  return found;
}

Result<Interpreter> Resolver::Wrapped(const Words& argv, int depth) {
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (IsAssignment(word)) {
      environment_[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
      continue;
    }
    // Values of the wrapper's own options ("-n 10") are not programs.
    if (word.empty() || word[0] == '-' || Find(word).empty()) continue;
    return Program(Words(argv.begin() + static_cast<long>(i), argv.end()), depth + 1);
  }
  return Guess(argv[0]);
}

std::optional<Interpreter> Resolver::FromShebang(const std::string& path, const Words& argv) const {
  Words shebang = ShebangOf(path);
  if (!shebang.empty() && BaseName(shebang[0]) == "env") {
    shebang.erase(shebang.begin());
    while (!shebang.empty() && (shebang[0][0] == '-' || IsAssignment(shebang[0]))) {
      shebang.erase(shebang.begin());
    }
  }
  if (shebang.empty() || !IsPythonName(BaseName(shebang[0]))) return std::nullopt;
  const std::string python = Find(shebang[0]);
  if (python.empty()) return std::nullopt;
  Interpreter found = Python(python, shebang);
  const auto script = std::find_if(argv.begin() + 1, argv.end(), EndsWithPy);
  if (EndsWithPy(path)) {
    found.script = path;
  } else if (IsLauncher(BaseName(argv[0])) && script != argv.end()) {
    found.script = Absolute(*script, workdir_);
  } else {
    found.script.clear();
  }
  return found;
}

Result<Interpreter> Resolver::Guess(const std::string& why) const {
  Interpreter found;
  found.certain = false;
  if (IsProjectTool(BaseName(why))) found.path = Find("./.venv/bin/python");
  for (const char* name : {"python3", "python"}) {
    if (found.path.empty()) found.path = Find(name);
  }
  if (found.path.empty()) {
    return Fail(ErrorCode::kMissingTool,
                fmt::format("{} does not tell which Python it runs, and PATH has none", why),
                "name the interpreter in the command, or put it first on PATH");
  }
  found.warning = fmt::format(
      "{} does not tell which Python it runs; capture was prepared for {}. If it is another one, "
      "put that one first on PATH or name it in the command",
      why, found.path);
  return found;
}

}  // namespace

Result<Interpreter> ResolveInterpreter(const std::vector<std::string>& argv,
                                       const Environment& environment, const std::string& workdir) {
  return Resolver(environment, workdir).Resolve(argv);
}

}  // namespace opguard::runner
