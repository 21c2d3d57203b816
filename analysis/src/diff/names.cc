#include "opguard/analysis/first_diff.h"

namespace opguard::analysis {

const char* StatusName(Status status) {
  switch (status) {
    case Status::kDiverged:
      return "diverged";
    case Status::kIdentical:
      return "identical";
    case Status::kNoDifferenceInCoverage:
      return "no_difference_in_coverage";
    case Status::kSelfNondeterministic:
      return "self_nondeterministic";
    case Status::kIncomparable:
      return "incomparable";
    case Status::kIncomplete:
      return "incomplete";
  }
  return "incomparable";
}

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNone:
      return "none";
    case Verdict::kOrigin:
      return "origin";
    case Verdict::kScalarArg:
      return "scalar_arg";
    case Verdict::kRng:
      return "rng";
    case Verdict::kDtype:
      return "dtype";
    case Verdict::kLayout:
      return "layout";
    case Verdict::kShape:
      return "shape";
    case Verdict::kPermuted:
      return "permuted";
    case Verdict::kStructural:
      return "structural";
    case Verdict::kInputData:
      return "input_data";
    case Verdict::kExternalWrite:
      return "external_write";
    case Verdict::kUninitialised:
      return "uninitialised";
    case Verdict::kProbeArtifact:
      return "probe_artifact";
    case Verdict::kReordered:
      return "reordered";
    case Verdict::kReceiver:
      return "receiver";
  }
  return "none";
}

const char* CertaintyName(Certainty certainty) {
  switch (certainty) {
    case Certainty::kCertain:
      return "certain";
    case Certainty::kLikely:
      return "likely";
    case Certainty::kPossible:
      return "possible";
  }
  return "possible";
}

}  // namespace opguard::analysis
