#include "trouble.h"

#include <fcntl.h>
#include <unistd.h>

namespace opguard::capture {
namespace {

void WriteAll(int file, const std::string& text) {
  // Nothing is left to tell if this fails.
  [[maybe_unused]] const ssize_t written = write(file, text.data(), text.size());
}

}  // namespace

void ReportTrouble(const std::string& directory, const std::string& code, const std::string& text) {
  std::string line = text;
  for (char& c : line) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  const std::string path = directory + "/note-" + std::to_string(getpid()) + ".txt";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file >= 0) {
    WriteAll(file, code + "\t" + line + "\n");
    close(file);
  }
  WriteAll(STDERR_FILENO, "opguard: capture is off in this process: " + line + "\n");
}

}  // namespace opguard::capture
