#include "kernels.h"

#include <array>
#include <cstring>
#include <vector>

#include "constants.h"
#include "mixing.h"

// Compiled once for each instruction set. Targets between these gain little and cost build time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if HWY_TARGET != HWY_SCALAR  // scalar_kernels.cc
HWY_BEFORE_NAMESPACE();
namespace opguard::capture {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::CappedTag<std::uint64_t, kLanes>;
using V64 = hn::Vec<D64>;
constexpr D64 kD64;
constexpr std::size_t kWidth = hn::MaxLanes(D64());
constexpr std::size_t kVectors = kLanes / kWidth;
using D32 = hn::Repartition<std::uint32_t, D64>;
using V32 = hn::Vec<D32>;
constexpr D32 kD32;

HWY_INLINE V64 LowTimesHigh(V64 words) {
  return hn::MulEven(hn::BitCast(kD32, words), hn::BitCast(kD32, hn::ShiftRight<32>(words)));
}

// Constants of the unordered digest; for 8-byte elements they alternate between the halves.
template <std::uint32_t kItem>
struct ShareKeys {
  V32 white, odd;
  V32 square = hn::Set(kD32, kSquare);
  ShareKeys() {
    if constexpr (kItem == 8) {
      white = hn::BitCast(kD32, hn::Set(kD64, kWhite | (std::uint64_t{kWhiteHigh} << 32U)));
      odd = hn::BitCast(kD32, hn::Set(kD64, kOdd | (std::uint64_t{kOddHigh} << 32U)));
    } else {
      white = hn::Set(kD32, kWhite);
      odd = hn::Set(kD32, kOdd);
    }
  }
};

template <std::uint32_t kItem>
HWY_INLINE V32 Scramble(V32 elements, const ShareKeys<kItem>& keys) {
  const V32 x = hn::Mul(hn::Xor(elements, keys.white), keys.odd);
  return hn::Xor(x, hn::ShiftRight<15>(x));
}

// Sum of ShareOf32 over the even and odd elements.
template <std::uint32_t kItem>
HWY_INLINE V64 SharesOf32(V32 elements, const ShareKeys<kItem>& keys) {
  const V32 x = Scramble(elements, keys);
  const V32 y = hn::Xor(x, keys.square);
  const V32 x_odd = hn::BitCast(kD32, hn::ShiftRight<32>(hn::BitCast(kD64, x)));
  const V32 y_odd = hn::BitCast(kD32, hn::ShiftRight<32>(hn::BitCast(kD64, y)));
  return hn::Add(hn::MulEven(x, y), hn::MulEven(x_odd, y_odd));
}

template <std::uint32_t kItem>
HWY_INLINE V64 Shares(V64 words, const ShareKeys<kItem>& keys) {
  const V32 elements = hn::BitCast(kD32, words);
  if constexpr (kItem == 8) {
    const V32 x = Scramble(elements, keys);
    const V64 both = hn::BitCast(kD64, x);
    const V32 high = hn::BitCast(kD32, hn::ShiftRight<32>(both));
    return hn::Add(hn::MulEven(hn::Add(x, high), hn::Xor(hn::Xor(x, high), keys.square)), both);
  } else if constexpr (kItem == 4) {
    return SharesOf32(elements, keys);
  } else if constexpr (kItem == 2) {
    const V32 low = hn::And(elements, hn::Set(kD32, 0xffffU));
    return hn::Add(SharesOf32(low, keys), SharesOf32(hn::ShiftRight<16>(elements), keys));
  } else {
    const V32 byte = hn::Set(kD32, 0xffU);
    const V64 even = hn::Add(SharesOf32(hn::And(elements, byte), keys),
                             SharesOf32(hn::And(hn::ShiftRight<8>(elements), byte), keys));
    const V64 odd = hn::Add(SharesOf32(hn::And(hn::ShiftRight<16>(elements), byte), keys),
                            SharesOf32(hn::ShiftRight<24>(elements), keys));
    return hn::Add(even, odd);
  }
}

// Named members instead of an array: vectors in arrays may end up in memory.
struct Accumulators {
  V64 v0, v1, v2, v3;
};
template <std::size_t kIndex>
HWY_INLINE V64& At(Accumulators& a) {
  if constexpr (kIndex == 0) return a.v0;
  if constexpr (kIndex == 1) return a.v1;
  if constexpr (kIndex == 2) return a.v2;
  if constexpr (kIndex == 3) return a.v3;
}

template <std::uint32_t kItem, std::size_t kIndex = 0>
HWY_INLINE void AddStripe(const std::uint8_t* HWY_RESTRICT data, std::size_t stripe,
                          const ShareKeys<kItem>& keys, Accumulators& lanes, V64& unordered) {
  if constexpr (kIndex < kVectors) {
    const V64 words = hn::BitCast(kD64, hn::LoadU(hn::Repartition<std::uint8_t, D64>(),
                                                  data + kIndex * kWidth * sizeof(std::uint64_t)));
    const V64 keyed = hn::Xor(words, hn::LoadU(kD64, kKeys.data() + stripe + kIndex * kWidth));
    V64& sum = At<kIndex>(lanes);
    sum = hn::Add(sum, hn::Add(LowTimesHigh(keyed), hn::Shuffle01(words)));
    if constexpr (kItem != 16) unordered = hn::Add(unordered, Shares<kItem>(words, keys));
    AddStripe<kItem, kIndex + 1>(data, stripe, keys, lanes, unordered);
  }
}

template <std::size_t kIndex = 0>
HWY_INLINE void Start(Accumulators& lanes) {
  if constexpr (kIndex < kVectors) {
    At<kIndex>(lanes) = hn::Load(kD64, kStart.data() + kIndex * kWidth);
    Start<kIndex + 1>(lanes);
  }
}
template <std::size_t kIndex = 0>
HWY_INLINE void Keep(Accumulators& lanes, std::uint64_t* HWY_RESTRICT words) {
  if constexpr (kIndex < kVectors) {
    hn::Store(At<kIndex>(lanes), kD64, words + kIndex * kWidth);
    Keep<kIndex + 1>(lanes, words);
  }
}

std::uint64_t SharesOfPairs(const std::uint8_t* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes; at += 16) {
    std::uint64_t words[2];
    std::memcpy(words, data + at, sizeof words);
    sum += ShareOf128(words[0], words[1]);
  }
  return sum;
}

template <std::uint32_t kItem>
void HashItems(const std::uint8_t* data, std::size_t bytes, std::uint64_t block, Sums& sums) {
  const ShareKeys<kItem> keys;
  V64 unordered = hn::Zero(kD64);
  alignas(64) std::uint64_t words[kLanes];
  if constexpr (kItem == 16) sums.unordered += SharesOfPairs(data, bytes);
  std::uint64_t fingerprint = 0;
  while (bytes != 0) {
    Accumulators lanes;
    Start(lanes);
    const std::size_t in_block = bytes < kBlockBytes ? bytes : kBlockBytes;
    const std::size_t whole = in_block / kStripeBytes;
    for (std::size_t stripe = 0; stripe < whole; ++stripe) {
      AddStripe<kItem>(data + stripe * kStripeBytes, stripe, keys, lanes, unordered);
    }
    if (const std::size_t rest = in_block % kStripeBytes; rest != 0) {
      alignas(64) std::uint8_t padded[kStripeBytes] = {};
      std::memcpy(padded, data + whole * kStripeBytes, rest);
      AddStripe<kItem>(padded, whole, keys, lanes, unordered);
      if constexpr (kItem != 16) {
        const std::uint64_t share = kItem == 8 ? ShareOf64(0) : ShareOf32(0);
        sums.unordered -= (kStripeBytes - rest) / kItem * share;  // what the padding added
      }
    }
    Keep(lanes, words);
    fingerprint += MergeLanes(words, block++);
    data += in_block;
    bytes -= in_block;
  }
  sums.fingerprint += fingerprint;
  hn::Store(unordered, kD64, words);
  for (std::size_t lane = 0; lane < kWidth; ++lane) sums.unordered += words[lane];
}

void Hash(const std::byte* data, std::size_t bytes, std::uint64_t first_block,
          std::uint32_t item_bytes, Sums& sums) {
  const auto* raw = reinterpret_cast<const std::uint8_t*>(data);
  switch (item_bytes) {
    case 1:
      return HashItems<1>(raw, bytes, first_block, sums);
    case 2:
      return HashItems<2>(raw, bytes, first_block, sums);
    case 4:
      return HashItems<4>(raw, bytes, first_block, sums);
    case 8:
      return HashItems<8>(raw, bytes, first_block, sums);
    default:
      return HashItems<16>(raw, bytes, first_block, sums);
  }
}

template <typename T>
T Element(const std::byte* data, std::size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

// Calls `add` with vectors of all elements. The last vector is filled up with the last element,
// which `padding` counts.
template <typename T, typename Add>
HWY_INLINE std::size_t ForVectors(const std::byte* data, std::size_t count, const Add& add) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* items = reinterpret_cast<const std::uint8_t*>(data);
  const hn::Repartition<std::uint8_t, decltype(d)> bytes;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    add(d, hn::BitCast(d, hn::LoadU(bytes, items + i * sizeof(T))));
  }
  if (i == count) return 0;
  alignas(64) T last[hn::MaxLanes(d)];
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    last[lane] = Element<T>(data, i + lane < count ? i + lane : count - 1);
  }
  add(d, hn::Load(d, last));
  return lanes - (count - i);
}

template <typename T, typename V>
void KeepExtremes(V low, V high, RawStatistics& raw) {
  const hn::ScalableTag<T> d;
  T lows[hn::MaxLanes(d)], highs[hn::MaxLanes(d)];
  hn::StoreU(low, d, lows);
  hn::StoreU(high, d, highs);
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
    if (lows[lane] > highs[lane]) continue;  // saw NaN only
    const auto minimum = static_cast<std::int64_t>(lows[lane]);
    const auto maximum = static_cast<std::int64_t>(highs[lane]);
    if (minimum < raw.minimum) raw.minimum = minimum;
    if (maximum > raw.maximum) raw.maximum = maximum;
  }
}

// Floats of `T`'s size, as sign and magnitude. NaN: magnitude above infinity's.
template <typename T>
void MeasureFloats(const std::byte* data, std::size_t count, T infinity, RawStatistics& raw) {
  if (count == 0) return;
  const hn::ScalableTag<T> d;
  const auto infinities = hn::Set(d, infinity);
  const auto magnitudes = hn::Set(d, hwy::LimitsMax<T>());
  auto low = hn::Set(d, hwy::LimitsMax<T>()), high = hn::Set(d, hwy::LimitsMin<T>());
  std::size_t nans = 0, infs = 0, zeros = 0;
  const std::size_t padding = ForVectors<T>(data, count, [&](auto, auto bits) HWY_ATTR {
    const auto magnitude = hn::And(bits, magnitudes);
    const auto is_nan = hn::Gt(magnitude, infinities);
    nans += hn::CountTrue(d, is_nan);
    infs += hn::CountTrue(d, hn::Eq(magnitude, infinities));
    zeros += hn::CountTrue(d, hn::Eq(magnitude, hn::Zero(d)));
    // Two's complement of the same order: negative numbers have their magnitude inverted.
    const auto ordered = hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), magnitudes));
    low = hn::Min(low, hn::IfThenElse(is_nan, low, ordered));
    high = hn::Max(high, hn::IfThenElse(is_nan, high, ordered));
  });
  if (padding != 0) {
    const T magnitude = static_cast<T>(Element<T>(data, count - 1) & hwy::LimitsMax<T>());
    nans -= magnitude > infinity ? padding : 0;
    infs -= magnitude == infinity ? padding : 0;
    zeros -= magnitude == 0 ? padding : 0;
  }
  raw.nans += static_cast<std::int64_t>(nans);
  raw.infs += static_cast<std::int64_t>(infs);
  raw.zeros += static_cast<std::int64_t>(zeros);
  KeepExtremes<T>(low, high, raw);
}

// Integers; `flip` (the sign bit for unsigned ones of 64 bits) brings them into T's order.
template <typename T>
void MeasureIntegers(const std::byte* data, std::size_t count, T flip, RawStatistics& raw) {
  if (count == 0) return;
  const hn::ScalableTag<T> d;
  const auto flips = hn::Set(d, flip);
  auto low = hn::Set(d, hwy::LimitsMax<T>()), high = hn::Set(d, hwy::LimitsMin<T>());
  std::size_t zeros = 0;
  const std::size_t padding = ForVectors<T>(data, count, [&](auto, auto values) HWY_ATTR {
    zeros += hn::CountTrue(d, hn::Eq(values, hn::Zero(d)));
    const auto ordered = hn::Xor(values, flips);
    low = hn::Min(low, ordered);
    high = hn::Max(high, ordered);
  });
  if (Element<T>(data, count - 1) == 0) zeros -= padding;
  raw.zeros += static_cast<std::int64_t>(zeros);
  KeepExtremes<T>(low, high, raw);
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

Kernels MakeKernels() { return {hwy::TargetName(HWY_TARGET), Hash, Measure}; }

}  // namespace HWY_NAMESPACE
}  // namespace opguard::capture
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace opguard::capture {
namespace {

// The features that Highway 1.0's target attributes take for granted. Its own detection lives in a
// shared library, which the capture library must not need.
#if HWY_ARCH_X86
bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes") &&
         __builtin_cpu_supports("f16c");
}
bool HasAvx3() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd");
}
bool HasSse4() {
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
         __builtin_cpu_supports("aes");
}
#endif

std::vector<Kernels> FindKernels() {
  std::vector<Kernels> found;
#if HWY_TARGETS & HWY_AVX3
  if (HasAvx3()) found.push_back(N_AVX3::MakeKernels());
#endif
#if HWY_TARGETS & HWY_AVX2
  if (HasAvx2()) found.push_back(N_AVX2::MakeKernels());
#endif
#if HWY_TARGETS & HWY_SSE4
  if (HasSse4()) found.push_back(N_SSE4::MakeKernels());
#endif
#if HWY_TARGETS & HWY_NEON
  found.push_back(N_NEON::MakeKernels());
#endif
  found.push_back(ScalarKernels());
  return found;
}

}  // namespace

std::span<const Kernels> AvailableKernels() {
  static const std::vector<Kernels> kernels = FindKernels();
  return kernels;
}

const Kernels& ChosenKernels() {
  static const Kernels chosen = AvailableKernels().front();
  return chosen;
}

}  // namespace opguard::capture
#endif  // HWY_ONCE
