// Reads a source file as the snapshot of it that goes into the trace.
#pragma once

#include <cstdint>
#include <string>

#include "opguard/store/records.h"

namespace opguard::capture {

// The row of `path`: its SHA-256, size and text. A file over 2 MiB keeps its size and no text; one
// that cannot be read (`<string>`, deleted) has neither text nor digest.
store::SourceRow ReadSource(std::int64_t id, const std::string& path);

}  // namespace opguard::capture
