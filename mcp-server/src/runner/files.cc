#include "runner/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace opguard::runner {

namespace fs = std::filesystem;

namespace {

// What is there from `offset` on, until the end or an error (a file in /proc whose process ends);
// streams would throw in the latter case.
std::string ReadFrom(int fd, off_t offset) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t n = pread(fd, buffer, sizeof buffer, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
    offset += n;
  }
}

}  // namespace

std::string ReadText(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text = ReadFrom(fd, 0);
  close(fd);
  return text;
}

Result<void> WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) {
    return Fail(ErrorCode::kIo, fmt::format("cannot write {}: {}", path, std::strerror(errno)),
                "make the folder writable and free some disk space");
  }
  return {};
}

std::vector<std::string> SplitLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> TailLines(const std::string& path, std::size_t count) {
  constexpr off_t kMost = 64 << 10;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const off_t size = lseek(fd, 0, SEEK_END);
  auto lines = SplitLines(ReadFrom(fd, size > kMost ? size - kMost : 0));
  close(fd);
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<long>(count));
  return lines;
}

std::string Trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool IsExecutableFile(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

bool IsWritableFolder(const std::string& path) {
  std::error_code error;
  fs::path folder = path;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  // Tried, not asked: for root access() allows what /proc or a network disk then refuses.
  std::string probe = (folder / ".opguard-XXXXXX").string();
  if (!fs::is_directory(folder, error) || mkdtemp(probe.data()) == nullptr) return false;
  rmdir(probe.c_str());
  return true;
}

std::int64_t NowUnixMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Result<TemporaryFolder> TemporaryFolder::Make() {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "opguard-XXXXXX").string();
  if (error || mkdtemp(path.data()) == nullptr) {
    return Fail(ErrorCode::kIo,
                fmt::format("cannot make a temporary folder: {}", std::strerror(errno)),
                "point TMPDIR to a writable folder");
  }
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

}  // namespace opguard::runner
