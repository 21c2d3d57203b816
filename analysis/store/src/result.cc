#include "opguard/store/result.h"

namespace opguard {

const char* ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kNotATrace:
      return "not_a_trace";
    case ErrorCode::kUnsupportedVersion:
      return "unsupported_version";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kIncomplete:
      return "incomplete";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kMissingTool:
      return "missing_tool";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kOutsideRoots:
      return "outside_roots";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace opguard
