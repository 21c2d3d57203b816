// What the tools share: the pair store, the runner, allowed roots, and judged alignments.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "opguard/analysis/alignment.h"
#include "opguard/analysis/first_diff.h"
#include "opguard/analysis/pair.h"
#include "opguard/store/result.h"
#include "runner/run_pair.h"
#include "tools/ids.h"
#include "tools/side_reader.h"

namespace opguard::tools {

// The two trace files of one rank that are compared.
struct RankFiles {
  std::uint32_t rank = 0;  // as in ids; see ComparisonRank for self comparisons
  std::string a, b;
};

// Which files a pair offers for comparison.
struct PairFiles {
  std::vector<RankFiles> ranks;           // A against B
  std::vector<RankFiles> self_a, self_b;  // A against A', B against B' (repeats), in order
  std::vector<std::string> warnings;      // ranks on one side only, unreadable files, helpers
};

// A loaded pair with its alignment judged.
struct Judged {
  std::unique_ptr<analysis::TracePair> traces;
  analysis::Alignment alignment;
  analysis::FirstDiff first;
};

// Thread-safe.
class Workspace {
 public:
  Workspace(std::string workdir, std::string home, std::vector<std::string> allowed_roots);

  const std::string& workdir() const { return workdir_; }
  const analysis::PairStore& store() const { return store_; }
  runner::Runner& runner() { return runner_; }

  // kOutsideRoots unless `path` (canonicalised, symbolic links resolved) lies in an allowed root;
  // without roots everything is allowed. Returns the absolute path.
  [[nodiscard]] Result<std::string> AllowedPath(const std::string& path) const;

  // Finds the traces of a pair. kIncomplete with the fix when a side has not been recorded.
  [[nodiscard]] Result<PairFiles> Files(analysis::Pair& pair) const;

  // Loads both traces, aligns and judges them, and stores the alignment in the pair.
  [[nodiscard]] Result<std::shared_ptr<Judged>> Judge(analysis::Pair& pair, const RankFiles& files,
                                                      const analysis::FirstDiffOptions& options);

  // The stored alignment of a rank, judging it first if there is none.
  [[nodiscard]] Result<std::shared_ptr<const analysis::Alignment>> AlignmentOf(
      analysis::Pair& pair, const RankFiles& files);

  // Both sides of an aligned op, by id; a side that has no such op is null.
  struct BothOps {
    RankFiles files;
    std::unique_ptr<SideReader> reader_a, reader_b;
    std::unique_ptr<OpView> a, b;
    analysis::RowState state = analysis::RowState::kEqual;
  };
  [[nodiscard]] Result<BothOps> FindOp(analysis::Pair& pair, const OpId& id);

 private:
  std::string workdir_;
  analysis::PairStore store_;
  runner::Runner runner_;
  std::vector<std::string> roots_;
};

// Ranks under which self comparisons are stored, apart from real ranks.
inline constexpr std::uint32_t kSelfRankA = 1000000, kSelfRankB = 2000000;

}  // namespace opguard::tools
