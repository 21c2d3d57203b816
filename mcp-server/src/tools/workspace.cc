#include "tools/workspace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

namespace opguard::tools {
namespace {

namespace fs = std::filesystem;
using analysis::RunInfo;
using analysis::Side;
using analysis::TraceFile;

// Main trace of each rank of a run.
std::map<std::uint32_t, TraceFile> MainTraces(const std::vector<TraceFile>& traces) {
  std::map<std::uint32_t, TraceFile> mains;
  for (const TraceFile& file : traces) {
    if (file.ordinal == 0 && !file.auxiliary) mains.emplace(file.rank, file);
  }
  return mains;
}

// Ranks that both runs have, as files to compare under `first_rank` + rank.
std::vector<RankFiles> Common(const std::map<std::uint32_t, TraceFile>& a,
                              const std::map<std::uint32_t, TraceFile>& b,
                              std::uint32_t first_rank) {
  std::vector<RankFiles> ranks;
  for (const auto& [rank, file] : a) {
    if (const auto other = b.find(rank); other != b.end()) {
      ranks.push_back({first_rank + rank, file.path, other->second.path});
    }
  }
  return ranks;
}

std::string Missing(const std::map<std::uint32_t, TraceFile>& a,
                    const std::map<std::uint32_t, TraceFile>& b) {
  std::vector<std::uint32_t> missing;
  for (const auto& [rank, file] : a) {
    if (!b.count(rank)) missing.push_back(rank);
  }
  return missing.empty() ? std::string{} : fmt::format("{}", fmt::join(missing, ", "));
}

}  // namespace

Workspace::Workspace(std::string workdir, std::string home, std::vector<std::string> allowed_roots)
    : workdir_(std::move(workdir)), store_(home), runner_(analysis::PairStore(home)) {
  for (const std::string& root : allowed_roots) {
    std::error_code error;
    roots_.push_back(fs::weakly_canonical(root, error).string());
  }
}

Result<std::string> Workspace::AllowedPath(const std::string& path) const {
  std::error_code error;
  const fs::path absolute =
      fs::path(path).is_absolute() ? fs::path(path) : fs::path(workdir_) / path;
  const fs::path canonical = fs::weakly_canonical(absolute, error);
  if (error) return Fail(ErrorCode::kNotFound, fmt::format("cannot resolve {}.", path));
  if (roots_.empty()) return canonical.string();
  for (const std::string& root : roots_) {
    const auto [mismatch, unused] = std::mismatch(fs::path(root).begin(), fs::path(root).end(),
                                                  canonical.begin(), canonical.end());
    if (mismatch == fs::path(root).end()) return canonical.string();
  }
  return Fail(ErrorCode::kOutsideRoots,
              fmt::format("{} lies outside the allowed roots.", canonical.string()),
              "use a path inside a root, or start the server with --allow-root for it", roots_);
}

Result<PairFiles> Workspace::Files(analysis::Pair& pair) const {
  OPGUARD_ASSIGN(const std::vector<RunInfo> runs, pair.Runs());
  PairFiles files;
  std::vector<std::map<std::uint32_t, TraceFile>> a, b;
  for (const RunInfo& run : runs) {
    OPGUARD_ASSIGN(const std::vector<TraceFile> traces, pair.Traces(run, &files.warnings));
    const auto helpers = std::count_if(traces.begin(), traces.end(), [](const TraceFile& t) {
      return t.auxiliary || t.ordinal != 0;
    });
    const char* side = run.side == Side::kA ? "A" : "B";
    if (helpers > 0) {
      files.warnings.push_back(fmt::format(
          "side {}: {} helper processes were recorded and are not compared", side, helpers));
    }
    auto mains = MainTraces(traces);
    if (!mains.empty()) (run.side == Side::kA ? a : b).push_back(std::move(mains));
  }
  if (a.empty() || b.empty()) {
    return Fail(ErrorCode::kIncomplete,
                fmt::format("pair {} has no trace of side {}.", pair.id(),
                            a.empty() && b.empty() ? "A or B"
                            : a.empty()            ? "A"
                                                   : "B"),
                fmt::format("call run_pair with pair_id {} and read its warnings", pair.id()));
  }
  files.ranks = Common(a[0], b[0], 0);
  for (std::size_t i = 1; i < a.size(); ++i) {
    for (auto& rank : Common(a[0], a[i], kSelfRankA)) files.self_a.push_back(std::move(rank));
  }
  for (std::size_t i = 1; i < b.size(); ++i) {
    for (auto& rank : Common(b[0], b[i], kSelfRankB)) files.self_b.push_back(std::move(rank));
  }
  if (const std::string only = Missing(a[0], b[0]); !only.empty()) {
    files.warnings.push_back(fmt::format("rank {} was recorded on side A only", only));
  }
  if (const std::string only = Missing(b[0], a[0]); !only.empty()) {
    files.warnings.push_back(fmt::format("rank {} was recorded on side B only", only));
  }
  if (files.ranks.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the sides of pair {} have no rank in common.", pair.id()),
                "run both sides with the same number of processes");
  }
  return files;
}

Result<std::shared_ptr<Judged>> Workspace::Judge(analysis::Pair& pair, const RankFiles& files,
                                                 const analysis::FirstDiffOptions& options) {
  auto judged = std::make_shared<Judged>();
  OPGUARD_ASSIGN(judged->traces, analysis::LoadPair(files.a, files.b));
  judged->alignment = analysis::Align(*judged->traces);
  judged->first = analysis::FindFirstDiff(*judged->traces, judged->alignment, options);
  // Ids come from the alignment, which does not depend on the options: any judgement may store it.
  // A pair in a read-only place still gets its answer; it is only not kept.
  if (pair.LoadAlignment(files.rank, files.a, files.b)) return judged;
  if (auto saved = pair.SaveAlignment(files.rank, files.a, files.b, judged->alignment); !saved) {
    judged->first.warnings.push_back("the alignment could not be stored: " + saved.error().message);
  }
  return judged;
}

Result<std::shared_ptr<const analysis::Alignment>> Workspace::AlignmentOf(analysis::Pair& pair,
                                                                          const RankFiles& files) {
  auto stored = pair.LoadAlignment(files.rank, files.a, files.b);
  if (stored) return std::make_shared<const analysis::Alignment>(std::move(*stored));
  OPGUARD_ASSIGN(const std::shared_ptr<Judged> judged, Judge(pair, files, {}));
  return std::make_shared<const analysis::Alignment>(std::move(judged->alignment));
}

Result<Workspace::BothOps> Workspace::FindOp(analysis::Pair& pair, const OpId& id) {
  OPGUARD_ASSIGN(const PairFiles files, Files(pair));
  BothOps both;
  bool found = false;
  for (const auto* list : {&files.ranks, &files.self_a, &files.self_b}) {
    for (const RankFiles& rank : *list) {
      if (rank.rank == id.rank && !found) {
        both.files = rank;
        found = true;
      }
    }
  }
  if (!found) {
    std::vector<std::string> ranks;
    for (const RankFiles& rank : files.ranks) ranks.push_back(std::to_string(rank.rank));
    return Fail(ErrorCode::kNotFound,
                fmt::format("{}: pair {} has no rank {}.", id.Text(), pair.id(), id.rank),
                "use an id from first_diff of this pair", ranks);
  }
  OPGUARD_ASSIGN(const auto alignment, AlignmentOf(pair, both.files));
  if (id.index >= alignment->rows) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("{}: rank {} of pair {} has {} aligned ops.", id.Text(), id.rank,
                            pair.id(), alignment->rows),
                "use an id from first_diff of this pair");
  }
  const auto row = alignment->At(id.index);
  both.state = row.state;
  OPGUARD_ASSIGN(both.reader_a, SideReader::Open(both.files.a));
  OPGUARD_ASSIGN(both.reader_b, SideReader::Open(both.files.b));
  if (row.a >= 0) {
    OPGUARD_ASSIGN(OpView view, both.reader_a->OpAt(row.a));
    both.a = std::make_unique<OpView>(std::move(view));
  }
  if (row.b >= 0) {
    OPGUARD_ASSIGN(OpView view, both.reader_b->OpAt(row.b));
    both.b = std::make_unique<OpView>(std::move(view));
  }
  return both;
}

}  // namespace opguard::tools
