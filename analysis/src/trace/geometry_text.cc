#include "geometry_text.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace opguard::analysis {
namespace {

struct DtypeBytes {
  std::string_view name;
  std::int32_t bytes;
};

constexpr DtypeBytes kDtypes[] = {
    {"float32", 4},
    {"Float", 4},
    {"float64", 8},
    {"Double", 8},
    {"float16", 2},
    {"Half", 2},
    {"bfloat16", 2},
    {"BFloat16", 2},
    {"int64", 8},
    {"Long", 8},
    {"int32", 4},
    {"Int", 4},
    {"int16", 2},
    {"Short", 2},
    {"int8", 1},
    {"Char", 1},
    {"uint8", 1},
    {"Byte", 1},
    {"bool", 1},
    {"Bool", 1},
    {"complex32", 4},
    {"ComplexHalf", 4},
    {"complex64", 8},
    {"ComplexFloat", 8},
    {"complex128", 16},
    {"ComplexDouble", 16},
    {"uint16", 2},
    {"UInt16", 2},
    {"uint32", 4},
    {"UInt32", 4},
    {"uint64", 8},
    {"UInt64", 8},
    {"quint8", 1},
    {"QUInt8", 1},
    {"qint8", 1},
    {"QInt8", 1},
    {"qint32", 4},
    {"QInt32", 4},
    {"float8_e5m2", 1},
    {"Float8_e5m2", 1},
    {"float8_e4m3fn", 1},
    {"Float8_e4m3fn", 1},
    {"float8_e5m2fnuz", 1},
    {"Float8_e5m2fnuz", 1},
    {"float8_e4m3fnuz", 1},
    {"Float8_e4m3fnuz", 1},
    {"float8_e8m0fnu", 1},
    {"Float8_e8m0fnu", 1},
    {"float4_e2m1fn_x2", 1},
    {"Float4_e2m1fn_x2", 1},
};

}  // namespace

std::optional<std::vector<std::int64_t>> ParseIntList(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  const char* at = text.data() + 1;
  const char* end = text.data() + text.size() - 1;
  std::vector<std::int64_t> numbers;
  while (at < end) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    numbers.push_back(number);
    at = next;
    if (at == end) break;
    if (*at != ',') return std::nullopt;
    do ++at;
    while (at < end && *at == ' ');
    if (at == end) return std::nullopt;
  }
  return numbers;
}

std::optional<std::int64_t> NumelOf(const std::vector<std::int64_t>& sizes) {
  std::int64_t numel = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(numel, size, &numel)) return std::nullopt;
  }
  return numel;
}

std::int32_t ItemBytes(std::string_view dtype) {
  if (dtype.starts_with("torch.")) dtype.remove_prefix(6);
  const auto* found = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                   [&](const DtypeBytes& entry) { return entry.name == dtype; });
  return found == std::end(kDtypes) ? 0 : found->bytes;
}

}  // namespace opguard::analysis
