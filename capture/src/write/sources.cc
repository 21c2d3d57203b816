#include "sources.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sha256.h"

namespace opguard::capture {
namespace {

constexpr std::int64_t kLargest = 2 << 20;

std::string ReadAll(int file, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = read(file, text.data() + done, bytes - done);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

}  // namespace

store::SourceRow ReadSource(std::int64_t id, const std::string& path) {
  store::SourceRow row{id, path, {}, 0, {}};
  if (path.empty() || path[0] != '/') return row;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return row;
  struct stat status {};
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    row.bytes = status.st_size;
    if (row.bytes <= kLargest) {
      row.text = ReadAll(file, static_cast<std::size_t>(row.bytes));
      row.bytes = static_cast<std::int64_t>(row.text.size());
      row.sha256 = Sha256(row.text);
    }
  }
  close(file);
  return row;
}

}  // namespace opguard::capture
