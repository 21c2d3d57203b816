#include "op_facts.h"

#include <algorithm>
#include <array>

namespace opguard::analysis {
namespace {

// Operators that write argument 0 whatever it held.
constexpr std::array<std::string_view, 34> kOverwriteFirst = {
    "aten::copy_",
    "aten::zero_",
    "aten::fill_",
    "aten::uniform_",
    "aten::normal_",
    "aten::random_",
    "aten::bernoulli_",
    "aten::exponential_",
    "aten::cauchy_",
    "aten::geometric_",
    "aten::log_normal_",
    "aten::set_",
    "aten::resize_",
    "aten::resize_as_",
    "aten::_foreach_zero_",
    "aten::_foreach_copy_",
    "c10d::allgather_",
    "c10d::_allgather_base_",
    "c10d::allgather_coalesced_",
    "c10d::allgather_into_tensor_coalesced_",
    "c10d::gather_",
    "c10d::scatter_",
    "c10d::reduce_scatter_",
    "c10d::_reduce_scatter_base_",
    "c10d::reduce_scatter_tensor_coalesced_",
    "c10d::alltoall_",
    "c10d::alltoall_base_",
    "c10d::recv_",
    "c10d::recv_any_source_",
    "aten::resize_as_sparse_",
    "aten::copy_sparse_to_sparse_",
    "aten::_resize_output_",
    "aten::normal_functional_",
    "aten::set_data",
};

constexpr std::array<std::string_view, 9> kMatmuls = {
    "aten::mm",     "aten::addmm",  "aten::bmm",    "aten::baddbmm",    "aten::linear",
    "aten::matmul", "aten::addbmm", "aten::einsum", "aten::_scaled_mm",
};

constexpr std::array<std::string_view, 6> kCasts = {
    "aten::to",
    "aten::_to_copy",
    "aten::type_as",
    "aten::_autocast_to_reduced_precision",
    "aten::_autocast_to_full_precision",
    "prims::convert_element_type",
};

constexpr std::array<std::string_view, 10> kCopies = {
    "aten::clone", "aten::copy_", "aten::contiguous", "aten::cat",  "aten::stack",
    "aten::zero_", "aten::fill_", "aten::zeros",      "aten::ones", "aten::full",
};

template <std::size_t N>
bool IsOneOf(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool MakesGarbage(std::string_view name) {
  return name.starts_with("aten::empty") || name.starts_with("aten::new_empty") ||
         name.starts_with("aten::_empty") || name == "aten::resize_" ||
         name == "aten::_resize_output_";
}

std::string_view LastWord(std::string_view text) {
  const auto default_at = text.find('=');
  if (default_at != std::string_view::npos) text = text.substr(0, default_at);
  const auto space = text.rfind(' ');
  return space == std::string_view::npos ? text : text.substr(space + 1);
}

void AddArgument(std::string_view text, bool is_keyword_only,
                 std::vector<SchemaArgument>& arguments) {
  const auto annotation = text.find('(');
  const bool is_written =
      annotation != std::string_view::npos &&
      text.substr(annotation, text.find(')') - annotation).find('!') != std::string_view::npos;
  arguments.push_back({std::string(LastWord(text)), is_written, is_keyword_only});
}

}  // namespace

std::vector<SchemaArgument> ParseSignature(std::string_view signature) {
  std::vector<SchemaArgument> arguments;
  const auto open = signature.find('(');
  if (open == std::string_view::npos) return arguments;
  int depth = 0;
  bool is_keyword_only = false;
  std::size_t begin = open + 1;
  for (std::size_t at = open; at < signature.size(); ++at) {
    const char c = signature[at];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (!(depth == 0 || (depth == 1 && c == ','))) continue;
    while (begin < at && signature[begin] == ' ') ++begin;
    const std::string_view text = signature.substr(begin, at - begin);
    begin = at + 1;
    if (text == "*") {
      is_keyword_only = true;
    } else if (text.find(' ') != std::string_view::npos) {
      AddArgument(text, is_keyword_only, arguments);
    }
    if (depth == 0) break;
  }
  return arguments;
}

OpFacts FactsOf(const store::SchemaRow& schema) {
  OpFacts facts;
  const std::string_view name = schema.name;
  facts.makes_garbage = MakesGarbage(name);
  facts.attaches = name == "aten::set_";
  facts.is_cast = IsOneOf(kCasts, name);
  facts.changes_layout = name == "aten::contiguous" || name == "aten::clone" || facts.is_cast;
  facts.is_matmul = IsOneOf(kMatmuls, name) ||
                    name.find("scaled_dot_product") != std::string_view::npos ||
                    name.find("convolution") != std::string_view::npos ||
                    name.starts_with("aten::conv1d") || name.starts_with("aten::conv2d") ||
                    name.starts_with("aten::conv3d") || name.starts_with("aten::conv_");
  facts.is_collective = name.starts_with("c10d::") || name.starts_with("_c10d_functional::");
  facts.draws = (schema.traits & store::kDraws) != 0;
  facts.is_trivial = !facts.draws && (schema.traits & store::kNondeterministic) == 0 &&
                     ((schema.traits & (store::kPointwise | store::kMayView)) != 0 ||
                      facts.is_cast || IsOneOf(kCopies, name));
  if (IsOneOf(kOverwriteFirst, name)) facts.overwritten |= 1U;
  const auto arguments = ParseSignature(schema.signature);
  for (std::size_t position = 0; position < std::min<std::size_t>(arguments.size(), 32);
       ++position) {
    if (arguments[position].is_written && arguments[position].is_keyword_only) {
      facts.overwritten |= 1U << position;
    }
  }
  return facts;
}

}  // namespace opguard::analysis
