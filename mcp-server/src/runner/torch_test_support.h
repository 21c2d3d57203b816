// Tests with a real torch (OPGUARD_PYTHON, given by CMake); skipped visibly without one.
#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <utility>

#include "runner/files.h"

namespace opguard::runner::testing {

inline constexpr char kPython[] = OPGUARD_PYTHON;

// The mark makes CTest call the whole test skipped.
inline bool Skips(bool is_lacking, const char* what) {
  if (is_lacking) std::printf("opguard-test-skipped: %s\n", what);
  return is_lacking;
}

class Folder {
 public:
  std::string Write(const std::string& name, const std::string& text) const {
    REQUIRE(WriteText(folder_.path() + "/" + name, text));
    return folder_.path() + "/" + name;
  }
  const std::string& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_ = std::move(*TemporaryFolder::Make());
};

}  // namespace opguard::runner::testing
