// What capture needs to know of an operator, read from its schema once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace c10 {
struct FunctionSchema;
}

namespace opguard::capture {

class Catalogue;

// How an argument's integer is to be printed.
enum class ValueKind : std::uint8_t { kPlain, kDtype, kLayout, kMemoryFormat };

struct ArgumentFacts {
  std::string name;
  ValueKind kind = ValueKind::kPlain;
  bool written = false;
};

// Immutable once made; kept for the life of the process.
struct OperatorFacts {
  std::string name, overload, full_name;
  std::int64_t schema = 0;
  std::uint32_t traits = 0;  // store::SchemaTrait
  bool draws = false, writes = false;
  std::vector<ArgumentFacts> arguments;
  std::size_t returns = 0;
};

// REQUIRES: `schema` belongs to a registered operator.
std::unique_ptr<OperatorFacts> ReadOperatorFacts(const c10::FunctionSchema& schema,
                                                 Catalogue& catalogue);

// False if the memory of a schema was reused by another operator.
bool SameOperator(const OperatorFacts& facts, const c10::FunctionSchema& schema);

}  // namespace opguard::capture
