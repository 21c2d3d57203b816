#include "runner/build_tools.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <vector>

#include "runner/environment.h"
#include "runner/files.h"
#include "runner/process.h"

namespace opguard::runner {
namespace {

struct Header {
  const char* name;
  const char* package;
};
constexpr std::array kHeaders{
    Header{"sqlite3.h", "libsqlite3-dev"}, Header{"zstd.h", "libzstd-dev"},
    Header{"hwy/highway.h", "libhwy-dev"}, Header{"tl/expected.hpp", "libexpected-dev"}};

struct Missing {
  std::vector<std::string> things, packages;
  void Add(const std::string& thing, const std::string& package) {
    things.push_back(thing);
    packages.push_back(package);
  }
};

std::string Compiler(const Environment& environment) {
  const std::string chosen = ValueOf(environment, "CXX");
  if (!chosen.empty()) return FindProgram(chosen, environment, "/");
  for (const char* name : {"c++", "g++", "clang++"}) {
    const std::string path = FindProgram(name, environment, "/");
    if (!path.empty()) return path;
  }
  return {};
}

// Lets the preprocessor say which headers it cannot find.
Result<void> FindHeaders(const std::string& compiler, const Environment& environment,
                         Missing& missing) {
  OPGUARD_ASSIGN(const TemporaryFolder folder, TemporaryFolder::Make());
  std::string source;
  for (const Header& header : kHeaders) {
    source += fmt::format("#if !__has_include(<{}>)\nopguard_lacks {}\n#endif\n", header.name,
                          header.package);
  }
  const std::string path = folder.path() + "/headers.cc";
  OPGUARD_TRY(WriteText(path, source));
  OPGUARD_ASSIGN(const Output output,
                 RunToEnd({compiler, "-std=c++20", "-E", "-P", path}, AsList(environment),
                          folder.path(), std::chrono::minutes(1)));
  if (!output.ok()) {
    return Fail(ErrorCode::kMissingTool,
                fmt::format("the compiler {} does not work: {}", compiler, Trimmed(output.err)),
                "sudo apt-get install -y g++");
  }
  for (const Header& header : kHeaders) {
    // The preprocessor separates tokens of "libx-dev" as it likes.
    std::string text;
    for (const char c : output.out) {
      if (c != ' ') text += c;
    }
    if (text.find(fmt::format("opguard_lacks{}", header.package)) != std::string::npos) {
      missing.Add(fmt::format("the header {}", header.name), header.package);
    }
  }
  return {};
}

}  // namespace

Result<BuildTools> FindBuildTools() {
  const Environment environment = EnvironmentWith({});
  Missing missing;
  BuildTools tools;
  tools.cmake = FindProgram("cmake", environment, "/");
  tools.ninja = FindProgram("ninja", environment, "/");
  if (tools.cmake.empty()) missing.Add("cmake", "cmake");
  if (tools.ninja.empty() && FindProgram("make", environment, "/").empty()) {
    missing.Add("ninja or make", "ninja-build");
  }
  if (FindProgram("pkg-config", environment, "/").empty()) {
    missing.Add("pkg-config", "pkg-config");
  }
  const std::string compiler = Compiler(environment);
  if (compiler.empty()) {
    missing.Add("a C++ compiler", "g++");
    for (const Header& header : kHeaders) missing.packages.push_back(header.package);
  } else {
    OPGUARD_TRY(FindHeaders(compiler, environment, missing));
  }
  if (missing.things.empty()) return tools;
  return Fail(ErrorCode::kMissingTool,
              fmt::format("the capture library cannot be built here: {} missing",
                          fmt::join(missing.things, ", ")),
              fmt::format("sudo apt-get install -y {}", fmt::join(missing.packages, " ")));
}

}  // namespace opguard::runner
