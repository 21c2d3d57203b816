// The envelope of every answer: status, summary, coverage, data, warnings, next; and of every
// error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "opguard/store/result.h"
#include "protocol/service.h"

namespace opguard::tools {

using mcp::Json;

inline constexpr std::size_t kNormalBudget = 8000;  // bytes of JSON
inline constexpr std::size_t kFullBudget = 40000;

// One entry of `next`.
Json Suggest(const std::string& tool, Json arguments, const std::string& why);

// An error as every tool gives it: "code: what. Fix: ... Valid: ...".
mcp::ToolResult ErrorResult(const Error& error);
// The text part of an error.
std::string ErrorText(const Error& error);

// A success: `structured` also as the text, so that either is complete alone.
mcp::ToolResult Success(Json structured);

// The first of `renderings` (longest first: lists cut to `items`) that fits `budget` bytes; the
// last one is used as it is.
Json FitBudget(std::size_t budget, const std::vector<std::size_t>& items,
               const std::function<Json(std::size_t items)>& render);

}  // namespace opguard::tools
