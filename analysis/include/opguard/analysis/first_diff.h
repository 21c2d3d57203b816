// The first op at which the two sides of a pair stop matching, and the verdict on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opguard/analysis/alignment.h"
#include "opguard/analysis/trace.h"

namespace opguard::analysis {

enum class Status : std::uint8_t {
  kDiverged,
  kIdentical,
  kNoDifferenceInCoverage,
  kSelfNondeterministic,
  kIncomparable,
  kIncomplete,
};
const char* StatusName(Status status);

enum class Verdict : std::uint8_t {
  kNone,
  kOrigin,
  kScalarArg,
  kRng,
  kDtype,
  kLayout,
  kShape,
  kPermuted,
  kStructural,
  kInputData,
  kExternalWrite,
  kUninitialised,
  kProbeArtifact,
  kReordered,
  kReceiver,
};
const char* VerdictName(Verdict verdict);

enum class Certainty : std::uint8_t { kCertain, kLikely, kPossible };
const char* CertaintyName(Certainty certainty);

// One op as both sides saw it; -1 and empty where a side has none.
struct OpSite {
  std::uint64_t index = 0;            // aligned index
  std::int64_t a = -1, b = -1;        // op columns' indices
  std::int64_t seq_a = 0, seq_b = 0;  // the files' op ids, 0 absent
  std::string name;                   // "aten::mm" with overload after a dot where present
  std::string module, module_class;
  Phase phase = Phase::kOther;
  std::uint32_t step = 0;
  std::string lane;
  std::string node;  // autograd node of a backward op
  bool recompute = false;
};

struct TensorDifference {
  std::int64_t tensor_a = -1, tensor_b = -1;  // indices into the tensor columns
  std::string slot;                           // "in0", "out0", "mut1[3]"
  std::string argument;                       // name of the argument in the schema, if known
  std::string what;  // "value", "order", "dtype", "strides", "shape", "missing on A", ...
};

struct ArgumentDifference {
  std::string name, a, b;
  std::string where;  // "" or the call inside the op that has it
};

struct Coverage {
  std::uint64_t ops_a = 0, ops_b = 0, aligned = 0, unaligned_a = 0, unaligned_b = 0;
  std::uint64_t tensors = 0;   // records of aligned ops
  std::uint64_t compared = 0;  // by fingerprint, or as a view through its base
  std::uint64_t trusted = 0, unreadable = 0;
  std::vector<std::pair<std::string, std::uint64_t>> skipped;  // reason -> count
  bool full = false;  // nothing skipped, trusted or unreadable, both traces complete, no gap
};

struct EqualBefore {
  std::uint64_t ops = 0, matmuls = 0, collectives = 0;
};

// A finding that was passed over (equivalent rewrite, reorder, probe artifact), listed.
struct PassedOver {
  Verdict kind = Verdict::kNone;  // kNone = equivalent rewrite
  std::uint64_t first_index = 0, rows = 0;
  std::string text;
};

struct FirstDiff {
  Status status = Status::kIdentical;
  Verdict verdict = Verdict::kNone;
  Certainty certainty = Certainty::kCertain;
  std::string reason;      // why this verdict, in facts
  std::string hypothesis;  // a known explanation, kept apart from facts; may be empty
  OpSite op;
  bool inputs_equal = false;
  std::vector<TensorDifference> differing;
  std::vector<ArgumentDifference> arguments;
  std::vector<std::string> inside_a, inside_b;  // calls within a composite op
  std::int32_t inside_marked = -1;              // the call that explains the difference
  std::vector<OpSite> missing, extra;           // structural: only on A, only on B (at most 20)
  std::uint64_t missing_total = 0, extra_total = 0;
  OpSite last_equal;  // last op of the certified prefix; index meaningful if has_last_equal
  bool has_last_equal = false;
  EqualBefore equal_before;
  std::uint64_t receivers = 0;  // later ops that differ because of it or later origins
  std::vector<PassedOver> passed_over;
  Coverage coverage;
  std::vector<std::string> warnings;
};

struct FirstDiffOptions {
  std::int64_t after_index = -1;  // look only after this aligned row
  std::string scope;              // module name prefix or phase name; empty: everything
};

// Judges every row (writing RowState into `alignment`, splitting its runs) and reports the
// earliest difference in execution order. Linear in the two traces.
[[nodiscard]] FirstDiff FindFirstDiff(const TracePair& pair, Alignment& alignment,
                                      const FirstDiffOptions& options = {});

}  // namespace opguard::analysis
