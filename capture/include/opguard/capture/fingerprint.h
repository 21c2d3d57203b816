// Position-keyed fingerprint and unordered digest of a tensor's logical content, for CPU memory.
// The exact definition (so that other devices and languages can repeat it): docs/fingerprint.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace opguard::capture {

// How the bytes of an element are read for statistics; the digests only use the size.
enum class ElementKind : std::uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex32,
  kComplex64,
  kComplex128,
  kFloat8,  // any 1-byte float: digested, no statistics
  kOpaque,  // digested, no statistics
};

struct Digest {
  std::uint64_t fingerprint = 0;  // equal iff (with probability 1 - 2^-60 or so) equal content
  std::uint64_t unordered = 0;    // equal for the same multiset of elements
};

struct Statistics {
  std::int64_t nans = 0, infs = 0, zeros = 0;
  double minimum = 0, maximum = 0;  // over finite and infinite non-NaN elements
  bool has_range = false;           // false: no such element, or a kind without order
};

// A tensor's memory: `data` points at element [0, ..., 0]; strides in elements, any sign, 0 for
// expanded dimensions. Alignment is not required. Not owned.
struct MemoryView {
  const void* data = nullptr;
  std::uint32_t item_bytes = 0;  // 1, 2, 4, 8 or 16
  ElementKind kind = ElementKind::kOpaque;
  std::span<const std::int64_t> sizes, strides;
};

// Digests `view`; fills `statistics` in the same pass if it is not null (a kind without numeric
// order leaves has_range false). Equal logical content gives equal digests whatever the strides.
// Thread-safe, allocates nothing, never throws. REQUIRES: every addressed byte is readable.
Digest Fingerprint(const MemoryView& view, Statistics* statistics = nullptr);

// Digest of a flat byte string, as for a 1-byte tensor of that length.
Digest FingerprintBytes(const void* data, std::size_t bytes);

// Name of the instruction set in use ("AVX3", "AVX2", "SSE4", ...).
const char* FingerprintTarget();

}  // namespace opguard::capture
