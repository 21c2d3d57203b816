// What the judge has to know of an operator beyond its name: kept by schema, computed once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opguard/analysis/trace.h"

namespace opguard::analysis {

struct SchemaArgument {
  std::string name;
  bool is_written = false;       // annotated `Tensor(a!)`
  bool is_keyword_only = false;  // after the `*`
};

// The arguments of a signature as torch prints it, in order; empty if it has no such form.
std::vector<SchemaArgument> ParseSignature(std::string_view signature);

struct OpFacts {
  bool makes_garbage = false;   // outputs hold whatever the memory held: `empty` and its like
  bool attaches = false;        // makes memory that something else filled visible: `set_`
  bool is_cast = false;         // `to`, `_to_copy`, `type_as`
  bool changes_layout = false;  // `contiguous`, `clone`: made to change strides
  bool is_matmul = false;
  bool is_collective = false;
  bool draws = false;
  bool is_trivial = false;        // cannot give two results for equal inputs: view, copy, pointwise
  std::uint32_t overwritten = 0;  // bit per argument position that is written without being read
  bool Overwrites(std::int32_t position) const {
    return position >= 0 && position < 32 && (overwritten >> position & 1U) != 0;
  }
};

OpFacts FactsOf(const store::SchemaRow& schema);

}  // namespace opguard::analysis
