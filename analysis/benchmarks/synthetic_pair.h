// A recorded pair of any size for benchmarks: real trace files and a pair store in a temporary
// folder that goes with the object.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/testing/pair_files.h"
#include "opguard/analysis/pair.h"

namespace opguard::analysis::benchmarks {

// Two runs of the same training program of `ops` ops and 4 * `ops` tensor records; one op of B
// gives another result from equal inputs. Failures throw std::runtime_error.
class SyntheticPair {
 public:
  // Writes both traces in child processes, so that this process's peak memory stays that of a
  // reader.
  explicit SyntheticPair(std::int64_t ops);

  // Home of the pair store.
  std::string home() const { return folder_.path(); }
  // Id of the altered op in the files.
  std::int64_t altered_op() const { return altered_op_; }

  // A new pair of the two runs, without alignment or answer. Returns its id.
  std::string NewPair() const;
  // Asks the kernel to forget the files' pages, so that the next reader waits for the disk.
  void DropFromPageCache() const;

 private:
  std::string RunFolder(Side side) const;

  testing::TempFolder folder_;
  std::int64_t altered_op_;
};

}  // namespace opguard::analysis::benchmarks
