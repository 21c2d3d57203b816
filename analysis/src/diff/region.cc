// Verdicts on ops that only one side has.
#include <fmt/format.h>

#include <algorithm>

#include "classify.h"
#include "site.h"

namespace opguard::analysis {
namespace {

std::size_t Index(std::int64_t value) { return static_cast<std::size_t>(value); }

// Matched rows that a region may hold between its unmatched ops.
constexpr std::uint64_t kBridge = 2;

struct Region {
  std::vector<std::size_t> only_a, only_b;
};

// The unmatched rows from the candidate on, up to where the sides run together again.
Region Gather(const PairFacts& facts, const Candidate& candidate) {
  Region region;
  std::uint64_t matched = 0;
  const Alignment& alignment = facts.alignment();
  const auto first =
      std::upper_bound(alignment.runs.begin(), alignment.runs.end(), candidate.row,
                       [](std::uint64_t row, const AlignedRun& run) { return row < run.index; });
  for (auto run = first - 1; run != alignment.runs.end() && matched <= kBridge; ++run) {
    const std::uint64_t skip = candidate.row > run->index ? candidate.row - run->index : 0;
    if (run->a >= 0 && run->b >= 0) {
      matched += run->count;
      continue;
    }
    matched = 0;
    for (std::uint64_t i = skip; i < run->count; ++i) {
      if (run->a >= 0) region.only_a.push_back(Index(run->a) + i);
      if (run->b >= 0) region.only_b.push_back(Index(run->b) + i);
    }
  }
  return region;
}

// The outputs of the one-sided op itself.
void ListOutputs(const PairFacts& facts, Side side, std::size_t op, FirstDiff& diff) {
  const Trace& trace = facts.trace(side);
  for (std::uint64_t t = trace.first_tensor[op]; t < trace.first_tensor[op + 1]; ++t) {
    if (facts.SlotOf(side, t).role == Role::kInput) continue;
    const auto record = static_cast<std::int64_t>(t);
    diff.differing.push_back(
        MakeDifference(facts, {side == Side::kA ? record : -1, side == Side::kB ? record : -1,
                               trace.tensor_slot[t], kOneSided}));
  }
}

const std::string& DtypeOf(const PairFacts& facts, Side side, std::size_t record) {
  return facts.dictionary().geometries[facts.trace(side).tensor_geometry[record]].row.dtype;
}

// "float32 to bfloat16" if the op is a cast that changes the dtype, else "".
std::string CastText(const PairFacts& facts, Side side, std::size_t op) {
  if (!facts.Facts(side, op).is_cast) return {};
  const Trace& trace = facts.trace(side);
  std::string from, to;
  for (std::uint64_t t = trace.first_tensor[op]; t < trace.first_tensor[op + 1]; ++t) {
    std::string& dtype = facts.SlotOf(side, t).role == Role::kInput ? from : to;
    if (dtype.empty()) dtype = DtypeOf(facts, side, t);
  }
  return from.empty() || to.empty() || from == to ? std::string{}
                                                  : fmt::format("{} to {}", from, to);
}

std::string ReaderText(const Judge& judge, const Region& region) {
  const Reader* first = nullptr;
  const auto look = [&](Side side, const std::vector<std::size_t>& ops) {
    for (const std::size_t op : ops) {
      const Reader* reader = judge.ReaderOf(side, op);
      if (reader && (!first || reader->op_a < first->op_a)) first = reader;
    }
  };
  look(Side::kA, region.only_a);
  look(Side::kB, region.only_b);
  if (!first) return "; what it left in memory differs at the end of the common steps";
  const PairFacts& facts = judge.facts();
  const OpSite site = MakeSite(facts, static_cast<std::int64_t>(first->op_a),
                               static_cast<std::int64_t>(first->op_b));
  const TensorDifference difference = MakeDifference(facts, first->pair);
  return fmt::format("; the first value that leaves them different is {} of {} ({})",
                     difference.slot, Naming(site), difference.what);
}

// Whether the region sets up state in the optimizer that the other side has already.
bool MakesOptimizerState(const PairFacts& facts, Side side, const Region& region) {
  const auto& own = side == Side::kA ? region.only_a : region.only_b;
  const auto& other = side == Side::kA ? region.only_b : region.only_a;
  if (!other.empty()) return false;
  return std::any_of(own.begin(), own.end(), [&](std::size_t op) {
    const std::string& name = facts.dictionary().schemas[facts.trace(side).schema[op]].name;
    return facts.trace(side).phase[op] == Phase::kOptimizer &&
           (name == "aten::zeros_like" || name == "aten::zeros");
  });
}

}  // namespace

void ListOneSided(const PairFacts& facts, Side side, const std::vector<std::size_t>& ops,
                  FirstDiff& diff) {
  constexpr std::size_t kListed = 20;
  std::vector<OpSite>& listed = side == Side::kA ? diff.missing : diff.extra;
  (side == Side::kA ? diff.missing_total : diff.extra_total) = ops.size();
  for (const std::size_t op : ops) {
    if (listed.size() == kListed) break;
    const auto index = static_cast<std::int64_t>(op);
    listed.push_back(side == Side::kA ? MakeSite(facts, index, -1) : MakeSite(facts, -1, index));
  }
}

void ClassifyRegion(const Judge& judge, const Candidate& candidate, FirstDiff& diff) {
  const PairFacts& facts = judge.facts();
  const Side side = candidate.a >= 0 ? Side::kA : Side::kB;
  const std::size_t op = Index(candidate.a >= 0 ? candidate.a : candidate.b);
  const Region region = Gather(facts, candidate);
  ListOneSided(facts, Side::kA, region.only_a, diff);
  ListOneSided(facts, Side::kB, region.only_b, diff);
  ListOutputs(facts, side, op, diff);
  diff.inputs_equal = true;
  diff.verdict = Verdict::kStructural;
  const std::string reader = ReaderText(judge, region);
  const char* name = side == Side::kA ? "A" : "B";
  if (const std::string cast = CastText(facts, side, op); !cast.empty()) {
    diff.verdict = Verdict::kDtype;
    diff.reason = fmt::format("only {} casts {} here{}", name, cast, reader);
  } else {
    diff.reason = fmt::format("{} on A and {} on B have no counterpart here, {} first{}",
                              region.only_a.size(), region.only_b.size(), Naming(diff.op), reader);
  }
  if (MakesOptimizerState(facts, side, region)) {
    diff.hypothesis = fmt::format(
        "the optimizer's state was made anew on {} while the other side went on with state that it "
        "had: was the optimizer state restored?",
        name);
  }
  const Reader* own = judge.ReaderOf(side, op);
  diff.certainty = own || region.only_a.size() + region.only_b.size() > 1 ? Certainty::kCertain
                                                                          : Certainty::kLikely;
  if (!diff.coverage.skipped.empty() || diff.coverage.trusted > 0) {
    diff.certainty = Certainty::kLikely;
  }
}

}  // namespace opguard::analysis
