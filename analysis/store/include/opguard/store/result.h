// Error and Result: how every OpGuard library reports failure. No exceptions of ours.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace opguard {

// The closed set of error codes; each is explained in schemas/errors.md.
enum class ErrorCode {
  kInvalidArgument,     // a caller's value is wrong
  kNotFound,            // the named thing does not exist
  kNotATrace,           // the file is not an OpGuard trace
  kUnsupportedVersion,  // a trace or pair of a newer format
  kCorrupt,             // damaged file: unreadable pages, ids out of range
  kIncomplete,          // the thing exists but was not finished
  kIo,                  // the operating system refused (permission, disk full)
  kMissingTool,         // compiler, headers, git or interpreter absent
  kTimeout,             // a deadline passed
  kCancelled,           // the caller cancelled
  kOutsideRoots,        // a path outside the allowed roots
  kInternal,            // a defect of OpGuard
};

// The stable snake_case name of a code ("not_found"), as shown to agents.
const char* ErrorCodeName(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;             // what was wrong, with the value, and why
  std::string fix;                 // the exact argument, call or command that helps
  std::vector<std::string> valid;  // nearest valid values, at most five
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message, std::string fix = {},
                                  std::vector<std::string> valid = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(fix), std::move(valid)});
}

}  // namespace opguard

// Returns the error of `expr` from the enclosing function, or yields nothing.
#define OPGUARD_TRY(expr)                                                           \
  do {                                                                              \
    if (auto opguard_result = (expr); !opguard_result)                              \
      return ::tl::unexpected<::opguard::Error>(std::move(opguard_result.error())); \
  } while (false)

// Declares `lhs` from the value of `expr`, or returns its error.
#define OPGUARD_ASSIGN(lhs, expr) OPGUARD_ASSIGN_IMPL(OPGUARD_CONCAT(result_, __LINE__), lhs, expr)
#define OPGUARD_ASSIGN_IMPL(tmp, lhs, expr)                                    \
  auto tmp = (expr);                                                           \
  if (!tmp) return ::tl::unexpected<::opguard::Error>(std::move(tmp.error())); \
  lhs = std::move(*tmp)
#define OPGUARD_CONCAT(a, b) OPGUARD_CONCAT_IMPL(a, b)
#define OPGUARD_CONCAT_IMPL(a, b) a##b
