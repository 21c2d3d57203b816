#include "runner/capture_sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "runner/files.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Candidates() {
  std::vector<std::string> roots;
  if (const char* root = std::getenv("OPGUARD_SOURCE_ROOT"); root != nullptr && *root) {
    return {root};
  }
  roots.push_back(OPGUARD_BUILT_FROM);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    roots.push_back((program.parent_path().parent_path() / "share/opguard/src").string());
  }
  return roots;
}

std::uint64_t Hash(std::uint64_t hash, const std::string& text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return (hash ^ 0xff) * 0x100000001b3U;
}

}  // namespace

Result<std::string> CaptureSourceRoot() {
  std::error_code error;
  const auto candidates = Candidates();
  for (const std::string& root : candidates) {
    if (fs::exists(root + "/capture/python/sitecustomize.py", error)) return root;
  }
  return Fail(ErrorCode::kNotFound,
              fmt::format("the sources of the capture library are in none of: {}",
                          fmt::join(candidates, ", ")),
              "set OPGUARD_SOURCE_ROOT to OpGuard's source folder, or install OpGuard again");
}

Result<std::string> ShimFolder() {
  OPGUARD_ASSIGN(const std::string root, CaptureSourceRoot());
  std::error_code error;
  return fs::weakly_canonical(root + "/capture/python", error).string();
}

std::string HashSources(const std::string& root) {
  std::vector<std::string> files{"CMakeLists.txt"};
  std::error_code error;
  for (const char* folder : {"cmake", "capture", "analysis/store", "schemas/trace.sql"}) {
    const fs::path path = fs::path(root) / folder;
    if (fs::is_regular_file(path, error)) files.push_back(folder);
    for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
         at.increment(error)) {
      if (at->is_regular_file(error)) files.push_back(fs::relative(at->path(), root).string());
    }
  }
  std::sort(files.begin(), files.end());
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::string& file : files) {
    // The shim runs from its folder and is not compiled in; tests do not end up in the library.
    if (file.rfind("capture/python/", 0) == 0 || file.find("_test.cc") != std::string::npos) {
      continue;
    }
    hash = Hash(Hash(hash, file), ReadText(root + "/" + file));
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace opguard::runner
