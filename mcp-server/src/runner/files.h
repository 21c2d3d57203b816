// Small helpers for files, folders and text that the runner's parts share. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opguard/store/result.h"

namespace opguard::runner {

// The file's bytes, "" if it cannot be read.
std::string ReadText(const std::string& path);
[[nodiscard]] Result<void> WriteText(const std::string& path, const std::string& text);
// The last lines of a file, read from its end; at most 64 KiB.
std::vector<std::string> TailLines(const std::string& path, std::size_t count);
std::vector<std::string> SplitLines(const std::string& text);  // without empty lines
std::string Trimmed(const std::string& text);                  // no white space at both ends
bool IsExecutableFile(const std::string& path);
bool IsWritableFolder(const std::string& path);  // or could be made in its nearest ancestor
std::int64_t NowUnixMs();

// A folder under $TMPDIR that is removed with its content on destruction.
class TemporaryFolder {
 public:
  [[nodiscard]] static Result<TemporaryFolder> Make();
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace opguard::runner
