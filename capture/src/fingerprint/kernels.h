// The loops over contiguous memory, compiled for several instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "opguard/capture/fingerprint.h"

namespace opguard::capture {

// Sums over blocks and elements, before Finish().
struct Sums {
  std::uint64_t fingerprint = 0, unordered = 0;
};

// Counts, and extremes as integers of the kind's order (statistics.h turns them into numbers).
struct RawStatistics {
  std::int64_t nans = 0, infs = 0, zeros = 0;
  std::int64_t minimum = INT64_MAX, maximum = INT64_MIN;
};

struct Kernels {
  const char* name;
  // Adds `bytes` of contiguous elements, of which the first begins block `first_block`. Only the
  // last call for a tensor may give a number of bytes that is no multiple of kBlockBytes.
  void (*hash)(const std::byte* data, std::size_t bytes, std::uint64_t first_block,
               std::uint32_t item_bytes, Sums& sums);
  // Adds `count` contiguous elements of a kind for which HasStatistics(kind).
  void (*measure)(const std::byte* data, std::size_t count, ElementKind kind,
                  RawStatistics& statistics);
};

// Without SIMD: for processors that have none of the others, and what the others are tested
// against.
Kernels ScalarKernels();
// Best first; all that this processor runs.
std::span<const Kernels> AvailableKernels();
// The kernels that Fingerprint() uses.
const Kernels& ChosenKernels();
// Fingerprint() with given kernels, for tests and benchmarks.
Digest FingerprintWith(const Kernels& kernels, const MemoryView& view, Statistics* statistics);

}  // namespace opguard::capture
