#include "runner/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace opguard::runner {
namespace {

struct ProcessStat {
  pid_t parent = 0;
  char state = 'Z';
};

bool ReadStat(pid_t pid, ProcessStat& stat) {
  char path[40], text[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return false;
  text[size] = '\0';
  // The command's name stands in parentheses and may hold any character.
  const char* after_name = std::strrchr(text, ')');
  return after_name != nullptr &&
         std::sscanf(after_name + 1, " %c %d", &stat.state, &stat.parent) == 2;
}

std::multimap<pid_t, std::pair<pid_t, char>> ChildrenOfAll() {
  std::multimap<pid_t, std::pair<pid_t, char>> children;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return children;
  while (const dirent* entry = readdir(folder)) {
    const pid_t pid = std::atoi(entry->d_name);
    ProcessStat stat;
    if (pid > 0 && ReadStat(pid, stat)) children.emplace(stat.parent, std::pair(pid, stat.state));
  }
  closedir(folder);
  return children;
}

}  // namespace

std::vector<pid_t> Descendants(pid_t root) {
  const auto children = ChildrenOfAll();
  std::vector<pid_t> open{root}, found;
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [begin, end] = children.equal_range(parent);
    for (auto child = begin; child != end; ++child) {
      const auto [pid, state] = child->second;
      open.push_back(pid);
      if (state != 'Z' && state != 'X') found.push_back(pid);
    }
  }
  return found;
}

}  // namespace opguard::runner
