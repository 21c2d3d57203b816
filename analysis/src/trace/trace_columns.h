// Fills one side's columns from its file.
#pragma once

#include "dictionary_builder.h"
#include "opguard/analysis/trace.h"

namespace opguard::analysis {

// Reads ops, tensors, nodes, storages and draws of `reader` into `trace`, whose facts are read
// already; `translation` gives the Dictionary's ids.
// Errors: those of the reader, kCorrupt for ids or ranges that contradict each other.
[[nodiscard]] Result<void> ReadColumns(const store::TraceReader& reader,
                                       const Translation& translation, Trace& trace);

}  // namespace opguard::analysis
