// Reading and writing one JSON text of the wire. What comes in is untrusted: depth is bounded, keys
// must be unique, UTF-8 must be valid, and the time taken is linear in the length of the line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/service.h"

namespace opguard::mcp {

inline constexpr std::size_t kMaxJsonDepth = 64;                 // nested arrays and objects
inline constexpr std::size_t kMaxLineBytes = 10u * 1024 * 1024;  // of one message

enum class JsonProblem { kNone, kSyntax, kTooDeep, kDuplicateKey };

struct ParsedLine {
  JsonProblem problem = JsonProblem::kNone;
  std::string detail;  // what is wrong, for people
  // Complete if there is no problem. For kTooDeep and kDuplicateKey it serves to find the message's
  // id: what lies too deep is left out, and an id that stands there twice is null.
  Json value;
};

// Never throws because of what the line holds.
ParsedLine ParseJsonLine(std::string_view line, std::size_t max_depth = kMaxJsonDepth);

// One line without its newline. Invalid UTF-8 becomes U+FFFD.
std::string DumpJsonLine(const Json& value);

// Untrusted text for an error message: at most `max_bytes`, cut between code points.
std::string Excerpt(std::string_view text, std::size_t max_bytes = 120);

}  // namespace opguard::mcp
