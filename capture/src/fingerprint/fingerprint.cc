#include "opguard/capture/fingerprint.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "constants.h"
#include "kernels.h"
#include "layout.h"
#include "mixing.h"
#include "statistics.h"

namespace opguard::capture {
namespace {

// Takes contiguous pieces of whole blocks (the last one excepted) with their position.
class Digester {
 public:
  Digester(const Kernels& kernels, const MemoryView& view, bool measures)
      : kernels_(kernels),
        kind_(view.kind),
        item_bytes_(view.item_bytes),
        measures_(measures && HasStatistics(view.kind)) {}

  void Add(const std::byte* data, std::size_t bytes, std::uint64_t block) {
    if (!measures_) return kernels_.hash(data, bytes, block, item_bytes_, sums_);
    // Pieces that stay in the first-level cache between the two loops.
    constexpr std::size_t kPiece = 8 * kBlockBytes;
    for (std::size_t at = 0; at < bytes; at += kPiece, block += kPiece / kBlockBytes) {
      const std::size_t size = std::min(kPiece, bytes - at);
      kernels_.hash(data + at, size, block, item_bytes_, sums_);
      if (IsComplex(kind_)) {
        MeasureComplex(data + at, size / item_bytes_, kind_, raw_);
      } else {
        kernels_.measure(data + at, size / item_bytes_, kind_, raw_);
      }
    }
  }

  Digest Result(std::uint64_t elements, Statistics* statistics) const {
    if (statistics != nullptr) *statistics = measures_ ? Interpret(raw_, kind_) : Statistics{};
    const std::uint64_t bytes = elements * item_bytes_;
    return {Finish(sums_.fingerprint, bytes, item_bytes_),
            Finish(sums_.unordered, bytes, item_bytes_)};
  }

 private:
  const Kernels& kernels_;
  const ElementKind kind_;
  const std::uint32_t item_bytes_;
  const bool measures_;
  Sums sums_;
  RawStatistics raw_;
};

template <std::uint32_t kItem>
void CopyStrided(const std::byte* from, std::int64_t stride, std::size_t count, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i, from += stride, to += kItem) {
    std::memcpy(to, from, kItem);
  }
}

void CopyRun(const std::byte* from, std::int64_t stride, std::size_t count, std::uint32_t item,
             std::byte* to) {
  if (stride == item) {
    std::memcpy(to, from, count * item);
    return;
  }
  switch (item) {
    case 1:
      return CopyStrided<1>(from, stride, count, to);
    case 2:
      return CopyStrided<2>(from, stride, count, to);
    case 4:
      return CopyStrided<4>(from, stride, count, to);
    case 8:
      return CopyStrided<8>(from, stride, count, to);
    default:
      return CopyStrided<16>(from, stride, count, to);
  }
}

// Position in all loops but the `inner` innermost ones.
class Odometer {
 public:
  Odometer(const Loops& loops, std::size_t inner) : loops_(loops), dims_(loops.dims - inner) {}
  std::int64_t offset() const { return offset_; }
  // False after the last position.
  bool Next() {
    for (std::size_t dim = dims_; dim-- > 0;) {
      offset_ += loops_.strides[dim];
      if (++index_[dim] < loops_.sizes[dim]) return true;
      offset_ -= loops_.strides[dim] * loops_.sizes[dim];
      index_[dim] = 0;
    }
    return false;
  }

 private:
  const Loops& loops_;
  const std::size_t dims_;
  std::array<std::int64_t, Loops::kMost> index_{};
  std::int64_t offset_ = 0;
};

// Collects runs in logical order into blocks.
class Gatherer {
 public:
  explicit Gatherer(Digester& digester) : digester_(digester) {}
  void Add(const std::byte* from, std::int64_t stride, std::size_t count, std::uint32_t item) {
    while (count != 0) {
      const std::size_t now = std::min(count, (kBlockBytes - filled_) / item);
      CopyRun(from, stride, now, item, buffer_ + filled_);
      filled_ += now * item;
      from += static_cast<std::int64_t>(now) * stride;
      count -= now;
      if (filled_ == kBlockBytes) Flush();
    }
  }
  void Flush() {
    if (filled_ != 0) digester_.Add(buffer_, filled_, block_++);
    filled_ = 0;
  }

 private:
  Digester& digester_;
  alignas(64) std::byte buffer_[kBlockBytes];
  std::size_t filled_ = 0;
  std::uint64_t block_ = 0;
};

void AddGathered(const std::byte* data, const Loops& loops, std::uint32_t item,
                 Digester& digester) {
  Gatherer gatherer(digester);
  const std::size_t last = loops.dims - 1;
  Odometer odometer(loops, 1);
  do {
    gatherer.Add(data + odometer.offset(), loops.strides[last],
                 static_cast<std::size_t>(loops.sizes[last]), item);
  } while (odometer.Next());
  gatherer.Flush();
}

// A transposed matrix, read a cache line at a time: row by row, each line would be loaded once for
// every element in it.
constexpr std::size_t kTileRows = 16;

bool IsTransposed(const Loops& loops, std::uint32_t item) {
  if (loops.dims < 2) return false;
  const std::size_t row = loops.dims - 2, column = loops.dims - 1;
  return loops.strides[row] == item && loops.strides[column] != item &&
         loops.sizes[row] % static_cast<std::int64_t>(kTileRows) == 0 &&
         loops.sizes[column] * item % static_cast<std::int64_t>(kBlockBytes) == 0;
}

template <std::uint32_t kItem>
void AddTransposed(const std::byte* data, const Loops& loops, Digester& digester) {
  constexpr std::size_t kColumns = kBlockBytes / kItem;
  constexpr std::size_t kRowBytes = kBlockBytes + 64;  // rows in different cache sets
  alignas(64) std::byte tile[kTileRows * kRowBytes];
  const auto rows = static_cast<std::size_t>(loops.sizes[loops.dims - 2]);
  const std::int64_t stride = loops.strides[loops.dims - 1];
  const auto row_blocks = static_cast<std::size_t>(loops.sizes[loops.dims - 1]) / kColumns;
  std::uint64_t first_block = 0;
  Odometer odometer(loops, 2);
  do {
    for (std::size_t row = 0; row < rows; row += kTileRows) {
      const std::byte* const lines = data + odometer.offset() + row * kItem;
      for (std::size_t block = 0; block < row_blocks; ++block) {
        const std::byte* line = lines + static_cast<std::int64_t>(block * kColumns) * stride;
        for (std::size_t column = 0; column < kColumns; ++column, line += stride) {
          for (std::size_t r = 0; r < kTileRows; ++r) {
            std::memcpy(tile + r * kRowBytes + column * kItem, line + r * kItem, kItem);
          }
        }
        for (std::size_t r = 0; r < kTileRows; ++r) {
          digester.Add(tile + r * kRowBytes, kBlockBytes,
                       first_block + (row + r) * row_blocks + block);
        }
      }
    }
    first_block += rows * row_blocks;
  } while (odometer.Next());
}

void AddTransposed(const std::byte* data, const Loops& loops, std::uint32_t item,
                   Digester& digester) {
  switch (item) {
    case 1:
      return AddTransposed<1>(data, loops, digester);
    case 2:
      return AddTransposed<2>(data, loops, digester);
    case 4:
      return AddTransposed<4>(data, loops, digester);
    case 8:
      return AddTransposed<8>(data, loops, digester);
    default:
      return AddTransposed<16>(data, loops, digester);
  }
}

}  // namespace

Digest FingerprintWith(const Kernels& kernels, const MemoryView& view, Statistics* statistics) {
  Digester digester(kernels, view, statistics != nullptr);
  const Loops loops(view);
  const auto* data = static_cast<const std::byte*>(view.data);
  if (loops.elements != 0) {
    if (loops.IsContiguous(view.item_bytes)) {
      digester.Add(data, loops.elements * view.item_bytes, 0);
    } else if (IsTransposed(loops, view.item_bytes)) {
      AddTransposed(data, loops, view.item_bytes, digester);
    } else {
      AddGathered(data, loops, view.item_bytes, digester);
    }
  }
  return digester.Result(loops.elements, statistics);
}

Digest Fingerprint(const MemoryView& view, Statistics* statistics) {
  return FingerprintWith(ChosenKernels(), view, statistics);
}

Digest FingerprintBytes(const void* data, std::size_t bytes) {
  const auto size = static_cast<std::int64_t>(bytes);
  const std::int64_t stride = 1;
  return Fingerprint({data, 1, ElementKind::kOpaque, {&size, 1}, {&stride, 1}});
}

const char* FingerprintTarget() { return ChosenKernels().name; }

}  // namespace opguard::capture
