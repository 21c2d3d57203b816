// Builders turned into trace files and loaded pairs. Failures throw std::runtime_error: a test
// that cannot write its fixture has failed.
#pragma once

#include <memory>
#include <string>

#include "analysis/testing/trace_builder.h"
#include "opguard/analysis/trace.h"

namespace opguard::analysis::testing {

// A fresh folder that is removed with everything in it on destruction.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Writes what `trace` holds as a finished trace with this status; "incomplete" leaves it
// unfinished. The builder itself is unchanged.
void WriteTrace(const TraceBuilder& trace, const std::string& path,
                const std::string& status = "complete");

// Both sides through files and LoadPair.
std::unique_ptr<TracePair> MakePair(const TraceBuilder& a, const TraceBuilder& b);

}  // namespace opguard::analysis::testing
