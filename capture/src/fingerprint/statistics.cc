#include "statistics.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace opguard::capture {
namespace {

// The inverse of the kernels' order: sign and magnitude back from two's complement.
std::uint64_t Bits(std::int64_t ordered, unsigned width) {
  const std::uint64_t magnitude_mask = (1ULL << (width - 1)) - 1;
  const auto bits = static_cast<std::uint64_t>(ordered);
  return ordered < 0 ? bits ^ magnitude_mask : bits;
}

double HalfToDouble(std::uint32_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  const std::uint32_t exponent = (bits >> 10U) & 0x1fU, mantissa = bits & 0x3ffU;
  if (exponent == 0x1f) return sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(mantissa + 1024, static_cast<int>(exponent) - 25);
}

double ToDouble(std::int64_t ordered, ElementKind kind) {
  switch (kind) {
    case ElementKind::kFloat16:
      return HalfToDouble(static_cast<std::uint32_t>(Bits(ordered, 16)) & 0xffffU);
    case ElementKind::kBFloat16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(Bits(ordered, 16)) << 16U);
    case ElementKind::kFloat32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(Bits(ordered, 32)));
    case ElementKind::kFloat64:
      return std::bit_cast<double>(Bits(ordered, 64));
    case ElementKind::kUInt64:
      return static_cast<double>(static_cast<std::uint64_t>(ordered) ^ (1ULL << 63U));
    default:
      return static_cast<double>(ordered);
  }
}

// (exponent mask, bytes of a part) of a complex kind.
struct Part {
  std::uint64_t infinity;
  std::size_t bytes;
};
Part PartOf(ElementKind kind) {
  if (kind == ElementKind::kComplex32) return {0x7c00, 2};
  if (kind == ElementKind::kComplex64) return {0x7f800000, 4};
  return {0x7ff0000000000000, 8};
}

}  // namespace

bool HasStatistics(ElementKind kind) {
  return kind != ElementKind::kFloat8 && kind != ElementKind::kOpaque;
}

bool IsComplex(ElementKind kind) {
  return kind == ElementKind::kComplex32 || kind == ElementKind::kComplex64 ||
         kind == ElementKind::kComplex128;
}

void MeasureComplex(const std::byte* data, std::size_t count, ElementKind kind,
                    RawStatistics& statistics) {
  const auto [infinity, bytes] = PartOf(kind);
  const std::uint64_t magnitude_mask = (1ULL << (bytes * 8 - 1)) - 1;
  for (std::size_t i = 0; i < count; ++i, data += 2 * bytes) {
    std::uint64_t real = 0, imaginary = 0;
    std::memcpy(&real, data, bytes);
    std::memcpy(&imaginary, data + bytes, bytes);
    real &= magnitude_mask;
    imaginary &= magnitude_mask;
    const bool is_nan = real > infinity || imaginary > infinity;
    statistics.nans += is_nan;
    statistics.infs += !is_nan && (real == infinity || imaginary == infinity);
    statistics.zeros += real == 0 && imaginary == 0;
  }
}

Statistics Interpret(const RawStatistics& raw, ElementKind kind) {
  Statistics statistics{raw.nans, raw.infs, raw.zeros, 0, 0, false};
  if (!IsComplex(kind) && raw.minimum <= raw.maximum) {
    statistics.minimum = ToDouble(raw.minimum, kind);
    statistics.maximum = ToDouble(raw.maximum, kind);
    statistics.has_range = true;
  }
  return statistics;
}

}  // namespace opguard::capture
