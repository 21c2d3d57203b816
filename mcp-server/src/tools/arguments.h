// Checks a tool's arguments against its input schema: lenient in form ("20" for 20), strict in
// meaning (an unknown argument is an error).
#pragma once

#include <nlohmann/json.hpp>

#include "opguard/store/result.h"

namespace opguard::tools {

using Json = nlohmann::ordered_json;

// The arguments with values coerced to the schema's types and defaults filled in. `schema` is a
// flat object schema (type, enum, minimum, maximum, maxLength, items, additionalProperties,
// required, default). All problems are reported in one kInvalidArgument error.
[[nodiscard]] Result<Json> CheckArguments(const Json& arguments, const Json& schema);

}  // namespace opguard::tools
