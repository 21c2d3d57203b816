#include <array>
#include <utility>

#include "matches.h"
#include "op_keys.h"
#include "opguard/analysis/alignment.h"
#include "rescue.h"
#include "rows.h"
#include "sequence_aligner.h"
#include "step_pairing.h"

namespace opguard::analysis {
namespace {

constexpr std::size_t kPhases = 4;

// A range's ops by lane; element [lane].
std::vector<OpList> ByLane(const Trace& trace, OpRange range, std::size_t lanes) {
  std::vector<OpList> lists(lanes);
  for (std::size_t op = range.begin; op < range.end; ++op) {
    lists[trace.lane[op]].push_back(static_cast<std::uint32_t>(op));
  }
  return lists;
}

std::array<OpList, kPhases> ByPhase(const Trace& trace, const OpList& ops) {
  std::array<OpList, kPhases> lists;
  for (const std::uint32_t op : ops) lists[static_cast<std::size_t>(trace.phase[op])].push_back(op);
  return lists;
}

bool HasSameKeysAndValues(const SideKeys& a, const SideKeys& b, const OpList& ops_a,
                          const OpList& ops_b) {
  if (ops_a.size() != ops_b.size()) return false;
  for (std::size_t i = 0; i < ops_a.size(); ++i) {
    if (a.exact(ops_a[i]) != b.exact(ops_b[i]) || a.inputs(ops_a[i]) != b.inputs(ops_b[i])) {
      return false;
    }
  }
  return true;
}

void AlignLane(const SideKeys& a, const SideKeys& b, const OpList& ops_a, const OpList& ops_b,
               const AlignOptions& options, Matches matches) {
  if (ops_a.empty() || ops_b.empty()) return;
  SequenceAligner aligner(a, b, matches, options.max_window);
  if (HasSameKeysAndValues(a, b, ops_a, ops_b)) return aligner.Align(ops_a, ops_b);
  const auto phases_a = ByPhase(a.trace(), ops_a), phases_b = ByPhase(b.trace(), ops_b);
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    aligner.Align(phases_a[phase], phases_b[phase]);
  }
  RescueLeftOvers(a, b, ops_a, ops_b, matches);
}

void Match(const SideKeys& a, const SideKeys& b, std::size_t lanes, const AlignOptions& options,
           Matches matches) {
  for (const StepPair& step : PairSteps(a, b)) {
    const auto lanes_a = ByLane(a.trace(), step.a, lanes),
               lanes_b = ByLane(b.trace(), step.b, lanes);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      AlignLane(a, b, lanes_a[lane], lanes_b[lane], options, matches);
    }
  }
}

// The side with fewer ops, or the smaller digest, goes first whatever it is called, so that the
// choice between equally good alignments does not depend on which side is A.
bool GoesFirst(const SideKeys& a, const SideKeys& b) {
  if (a.trace().ops() != b.trace().ops()) return a.trace().ops() < b.trace().ops();
  return a.digest() <= b.digest();
}

}  // namespace

Alignment Align(const TracePair& pair, const AlignOptions& options) {
  Alignment alignment;
  alignment.match_a.assign(pair.a.ops(), -1);
  alignment.match_b.assign(pair.b.ops(), -1);
  std::vector<bool> is_moved_b(pair.b.ops(), false);
  {
    const DictionaryHashes hashes(pair.dictionary);
    const SideKeys a(pair.a, hashes), b(pair.b, hashes);
    const std::size_t lanes = pair.dictionary.lanes.size();
    if (GoesFirst(a, b)) {
      Match(a, b, lanes, options, {alignment.match_a, alignment.match_b, is_moved_b});
    } else {
      std::vector<bool> is_moved_a(pair.a.ops(), false);
      Match(b, a, lanes, options, {alignment.match_b, alignment.match_a, is_moved_a});
      for (std::size_t op = 0; op < is_moved_a.size(); ++op) {
        if (is_moved_a[op]) is_moved_b[static_cast<std::size_t>(alignment.match_a[op])] = true;
      }
    }
  }
  BuildRuns(pair, is_moved_b, alignment);
  return alignment;
}

}  // namespace opguard::analysis
