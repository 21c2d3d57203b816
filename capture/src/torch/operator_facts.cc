#include "operator_facts.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/function_schema.h>

#include <sstream>

#include "../write/catalogue.h"
#include "opguard/store/records.h"

namespace opguard::capture {
namespace {

ValueKind KindOf(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return ValueKind::kDtype;
    case c10::TypeKind::LayoutType:
      return ValueKind::kLayout;
    case c10::TypeKind::MemoryFormatType:
      return ValueKind::kMemoryFormat;
    default:
      return ValueKind::kPlain;
  }
}

// Batch norm and instance norm update their running statistics without saying so in the schema.
bool WritesSilently(const std::string& operator_name, const std::string& argument) {
  return (argument == "running_mean" || argument == "running_var") &&
         (operator_name.find("batch_norm") != std::string::npos ||
          operator_name.find("instance_norm") != std::string::npos) &&
         operator_name.find("backward") == std::string::npos;
}

template <typename Tag>
bool IsNondeterministic(const c10::OperatorHandle& op) {
  if constexpr (requires { Tag::nondeterministic_bitwise; }) {
    return op.hasTag(Tag::nondeterministic_bitwise);
  } else {
    return false;
  }
}

std::uint32_t TagTraits(const c10::FunctionSchema& schema) {
  const auto op = c10::Dispatcher::singleton().findSchema(schema.operator_name());
  if (!op) return 0;
  std::uint32_t traits = 0;
  if (op->hasTag(at::Tag::nondeterministic_seeded)) traits |= store::kDraws;
  if (IsNondeterministic<at::Tag>(*op)) traits |= store::kNondeterministic;
  if (op->hasTag(at::Tag::pointwise)) traits |= store::kPointwise;
  return traits;
}

}  // namespace

std::unique_ptr<OperatorFacts> ReadOperatorFacts(const c10::FunctionSchema& schema,
                                                 Catalogue& catalogue) {
  auto facts = std::make_unique<OperatorFacts>();
  facts->name = schema.name();
  facts->overload = schema.overload_name();
  facts->full_name = facts->overload.empty() ? facts->name : facts->name + "." + facts->overload;
  facts->traits = TagTraits(schema);
  for (const c10::Argument& argument : schema.arguments()) {
    const c10::AliasInfo* alias = argument.alias_info();
    const bool written =
        (alias != nullptr && alias->isWrite()) || WritesSilently(facts->name, argument.name());
    facts->arguments.push_back({argument.name(), KindOf(argument), written});
    if (written) facts->traits |= store::kWrites;
  }
  for (const c10::Argument& result : schema.returns()) {
    const c10::AliasInfo* alias = result.alias_info();
    if (alias != nullptr && !alias->isWrite()) facts->traits |= store::kMayView;
  }
  facts->draws = (facts->traits & store::kDraws) != 0;
  facts->writes = (facts->traits & store::kWrites) != 0;
  facts->returns = schema.returns().size();
  std::ostringstream signature;
  signature << schema;
  facts->schema = catalogue.Schema(
      {0, facts->name, facts->overload, std::move(signature).str(), facts->traits});
  return facts;
}

bool SameOperator(const OperatorFacts& facts, const c10::FunctionSchema& schema) {
  return facts.arguments.size() == schema.arguments().size() && facts.name == schema.name() &&
         facts.overload == schema.overload_name();
}

}  // namespace opguard::capture
