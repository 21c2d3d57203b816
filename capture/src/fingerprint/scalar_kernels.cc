#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "constants.h"
#include "kernels.h"
#include "mixing.h"

namespace opguard::capture {
namespace {

std::uint64_t Load(const std::byte* data, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, data, bytes);
  return value;
}

std::uint64_t BlockValue(const std::byte* data, std::size_t bytes, std::uint64_t block) {
  std::array<std::uint64_t, kLanes> lanes = kStart;
  for (std::size_t at = 0; at < bytes; at += kStripeBytes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t word = at + lane * sizeof(std::uint64_t);
      const std::size_t left = word < bytes ? std::min(bytes - word, sizeof(std::uint64_t)) : 0;
      const std::uint64_t value = left == 0 ? 0 : Load(data + word, left);
      const std::uint64_t keyed = value ^ kKeys[at / kStripeBytes + lane];
      lanes[lane] += (keyed & 0xffffffffU) * (keyed >> 32U);
      lanes[lane ^ 1U] += value;
    }
  }
  return MergeLanes(lanes.data(), block);
}

std::uint64_t Share(const std::byte* element, std::uint32_t item_bytes) {
  if (item_bytes <= 4) return ShareOf32(static_cast<std::uint32_t>(Load(element, item_bytes)));
  if (item_bytes == 8) return ShareOf64(Load(element, 8));
  return ShareOf128(Load(element, 8), Load(element + 8, 8));
}

void Hash(const std::byte* data, std::size_t bytes, std::uint64_t first_block,
          std::uint32_t item_bytes, Sums& sums) {
  for (std::size_t at = 0; at < bytes; at += kBlockBytes) {
    sums.fingerprint += BlockValue(data + at, std::min(kBlockBytes, bytes - at), first_block++);
  }
  for (std::size_t at = 0; at < bytes; at += item_bytes) {
    sums.unordered += Share(data + at, item_bytes);
  }
}

void Extend(RawStatistics& raw, std::int64_t ordered) {
  raw.minimum = std::min(raw.minimum, ordered);
  raw.maximum = std::max(raw.maximum, ordered);
}

template <typename T>
void MeasureFloats(const std::byte* data, std::size_t count, T infinity, RawStatistics& raw) {
  constexpr T kMagnitude = std::numeric_limits<T>::max();
  for (std::size_t i = 0; i < count; ++i) {
    T bits;
    std::memcpy(&bits, data + i * sizeof(T), sizeof(T));
    const T magnitude = static_cast<T>(bits & kMagnitude);
    raw.nans += magnitude > infinity;
    raw.infs += magnitude == infinity;
    raw.zeros += magnitude == 0;
    if (magnitude <= infinity) Extend(raw, bits < 0 ? static_cast<T>(bits ^ kMagnitude) : bits);
  }
}

template <typename T>
void MeasureIntegers(const std::byte* data, std::size_t count, T flip, RawStatistics& raw) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    raw.zeros += value == 0;
    Extend(raw, static_cast<T>(value ^ flip));
  }
}

void Measure(const std::byte* data, std::size_t count, ElementKind kind, RawStatistics& raw) {
  switch (kind) {
    case ElementKind::kFloat16:
      return MeasureFloats<std::int16_t>(data, count, 0x7c00, raw);
    case ElementKind::kBFloat16:
      return MeasureFloats<std::int16_t>(data, count, 0x7f80, raw);
    case ElementKind::kFloat32:
      return MeasureFloats<std::int32_t>(data, count, 0x7f800000, raw);
    case ElementKind::kFloat64:
      return MeasureFloats<std::int64_t>(data, count, 0x7ff0000000000000, raw);
    case ElementKind::kBool:
    case ElementKind::kUInt8:
      return MeasureIntegers<std::uint8_t>(data, count, 0, raw);
    case ElementKind::kInt8:
      return MeasureIntegers<std::int8_t>(data, count, 0, raw);
    case ElementKind::kInt16:
      return MeasureIntegers<std::int16_t>(data, count, 0, raw);
    case ElementKind::kUInt16:
      return MeasureIntegers<std::uint16_t>(data, count, 0, raw);
    case ElementKind::kInt32:
      return MeasureIntegers<std::int32_t>(data, count, 0, raw);
    case ElementKind::kUInt32:
      return MeasureIntegers<std::uint32_t>(data, count, 0, raw);
    case ElementKind::kInt64:
      return MeasureIntegers<std::int64_t>(data, count, 0, raw);
    case ElementKind::kUInt64:
      return MeasureIntegers<std::int64_t>(data, count, INT64_MIN, raw);
    default:
      return;
  }
}

}  // namespace

Kernels ScalarKernels() { return {"scalar", Hash, Measure}; }

}  // namespace opguard::capture
