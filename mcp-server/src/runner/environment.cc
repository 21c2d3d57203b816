#include "runner/environment.h"

#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "runner/files.h"

namespace opguard::runner {

namespace fs = std::filesystem;

Environment EnvironmentWith(const Environment& added) {
  Environment all = added;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

std::vector<std::string> AsList(const Environment& environment) {
  std::vector<std::string> list;
  for (const auto& [name, value] : environment) list.push_back(name + "=" + value);
  return list;
}

std::string ValueOf(const Environment& environment, const std::string& name,
                    const std::string& fallback) {
  const auto found = environment.find(name);
  return found == environment.end() ? fallback : found->second;
}

std::string Absolute(const std::string& path, const std::string& workdir) {
  return (fs::path(workdir) / path).lexically_normal().string();
}

std::string FindProgram(const std::string& name, const Environment& environment,
                        const std::string& workdir) {
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) {
    const std::string path = Absolute(name, workdir);
    return IsExecutableFile(path) ? path : std::string{};
  }
  std::istringstream folders(ValueOf(environment, "PATH", "/bin:/usr/bin"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = Absolute(folder.empty() ? name : folder + "/" + name, workdir);
    if (IsExecutableFile(path)) return path;
  }
  return {};
}

}  // namespace opguard::runner
