#include "opguard/capture/fingerprint.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "constants.h"
#include "kernels.h"

namespace opguard::capture {
namespace {

using Bytes = std::vector<std::byte>;

Bytes Random(std::size_t bytes, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Bytes data(bytes);
  for (std::byte& byte : data) byte = static_cast<std::byte>(generator());
  return data;
}

template <typename T>
MemoryView View(const std::vector<T>& data, ElementKind kind, const std::int64_t& size) {
  static constexpr std::int64_t kOne = 1;
  return {data.data(), sizeof(T), kind, {&size, 1}, {&kOne, 1}};
}

Digest Of(const Kernels& kernels, const std::byte* data, std::size_t bytes, std::uint32_t item) {
  const auto size = static_cast<std::int64_t>(bytes / item);
  const std::int64_t one = 1;
  return FingerprintWith(kernels, {data, item, ElementKind::kOpaque, {&size, 1}, {&one, 1}},
                         nullptr);
}
Digest Of(const Bytes& data, std::uint32_t item) {
  return Of(ChosenKernels(), data.data(), data.size(), item);
}

bool Same(const Digest& a, const Digest& b) {
  return a.fingerprint == b.fingerprint && a.unordered == b.unordered;
}

const std::uint32_t kItems[] = {1, 2, 4, 8, 16};

TEST_CASE("Every instruction set gives the digests of plain scalar code at every size") {
  for (const std::uint32_t item : kItems) {
    for (std::size_t elements = 0; elements * item <= 3 * kBlockBytes + 80; ++elements) {
      const Bytes source = Random(elements * item, elements + item);
      // Exactly sized and unaligned, so that a sanitizer sees every wrong read.
      const std::unique_ptr<std::byte[]> exact(new std::byte[source.size() + 1]);
      std::copy(source.begin(), source.end(), exact.get() + 1);
      const Digest expected = Of(ScalarKernels(), exact.get() + 1, source.size(), item);
      for (const Kernels& kernels : AvailableKernels()) {
        CAPTURE(kernels.name);
        CAPTURE(elements);
        if (!Same(Of(kernels, exact.get() + 1, source.size(), item), expected)) {
          FAIL("differs at item size " << item);
        }
      }
      if (elements > 300) elements += 37;
    }
  }
}

TEST_CASE("A changed bit anywhere changes both digests") {
  for (const std::uint32_t item : kItems) {
    for (const std::size_t bytes : {16U, 64U, 80U, 2048U, 2064U, 4112U}) {
      Bytes data = Random(bytes, bytes);
      const Digest before = Of(data, item);
      for (std::size_t bit = 0; bit<bytes * 8; bit += bytes> 100 ? 13 : 1) {
        data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        const Digest after = Of(data, item);
        CHECK_MESSAGE(after.fingerprint != before.fingerprint, "bit " << bit << " of " << bytes);
        CHECK_MESSAGE(after.unordered != before.unordered, "bit " << bit << " of " << bytes);
        data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      }
    }
  }
}

TEST_CASE("A permutation changes the fingerprint and keeps the unordered digest") {
  std::mt19937_64 generator(7);
  std::vector<float> data(5000);
  std::iota(data.begin(), data.end(), -100.0F);
  const auto size = static_cast<std::int64_t>(data.size());
  const Digest before = Fingerprint(View(data, ElementKind::kFloat32, size));
  for (int round = 0; round < 50; ++round) {
    std::vector<float> other = data;
    if (round == 0) {
      std::swap(other[3], other[4]);  // neighbours
    } else if (round == 1) {
      std::swap(other[0], other[512]);  // the same place of two blocks
    } else if (round == 2) {
      std::swap_ranges(other.begin(), other.begin() + 512, other.begin() + 512);  // two blocks
    } else if (round == 3) {
      std::rotate(other.begin(), other.begin() + 1, other.end());
    } else {
      std::shuffle(other.begin(), other.end(), generator);
    }
    const Digest after = Fingerprint(View(other, ElementKind::kFloat32, size));
    CHECK(after.fingerprint != before.fingerprint);
    CHECK(after.unordered == before.unordered);
  }
}

TEST_CASE("Elements of 2 bytes swapped inside a machine word are a permutation") {
  std::vector<std::uint16_t> data{1, 2, 3, 4, 5, 6, 7, 8}, other{2, 1, 3, 4, 5, 6, 7, 8};
  const std::int64_t size = 8;
  const Digest a = Fingerprint(View(data, ElementKind::kBFloat16, size));
  const Digest b = Fingerprint(View(other, ElementKind::kBFloat16, size));
  CHECK(a.fingerprint != b.fingerprint);
  CHECK(a.unordered == b.unordered);
}

TEST_CASE("Structured contents do not collide") {
  std::set<std::uint64_t> ordered, unordered;
  std::size_t count = 0;
  const auto add = [&](const Bytes& data, std::uint32_t item) {
    const Digest digest = Of(data, item);
    ordered.insert(digest.fingerprint);
    unordered.insert(digest.unordered);
    ++count;
  };
  for (std::size_t bytes = 0; bytes < 4200; bytes += 4) add(Bytes(bytes), 4);  // zeros
  for (std::uint32_t value = 1; value < 3000; ++value) {  // one small integer in zeros
    Bytes data(1024);
    std::memcpy(data.data() + 512, &value, 4);
    add(data, 4);
  }
  for (std::uint32_t value = 1; value < 3000; ++value) {  // constants
    Bytes data(256);
    for (std::size_t at = 0; at < data.size(); at += 4) std::memcpy(&data[at], &value, 4);
    add(data, 4);
  }
  CHECK(ordered.size() == count);
  CHECK(unordered.size() == count);
}

TEST_CASE("Multisets of equal sum and equal sum of squares have other unordered digests") {
  // Prouhet-Tarry-Escott: 1+5+6 = 2+3+7 and 1+25+36 = 4+9+49.
  for (std::int32_t shift = 0; shift < 1000; ++shift) {
    const std::vector<std::int32_t> a{1 + shift, 5 + shift, 6 + shift};
    const std::vector<std::int32_t> b{2 + shift, 3 + shift, 7 + shift};
    const std::int64_t size = 3;
    CHECK(Fingerprint(View(a, ElementKind::kInt32, size)).unordered !=
          Fingerprint(View(b, ElementKind::kInt32, size)).unordered);
    const std::vector<std::int64_t> c(a.begin(), a.end()), d(b.begin(), b.end());
    CHECK(Fingerprint(View(c, ElementKind::kInt64, size)).unordered !=
          Fingerprint(View(d, ElementKind::kInt64, size)).unordered);
  }
}

TEST_CASE("Two copies of a block differ from two copies of another block") {
  // An XOR over elements would call both zero (Megatron-LM#1421).
  const Bytes one = Random(kBlockBytes, 1), other = Random(kBlockBytes, 2);
  const auto twice = [](Bytes block) {
    Bytes data = block;
    data.insert(data.end(), block.begin(), block.end());
    return Of(data, 4);
  };
  CHECK(twice(one).fingerprint != twice(other).fingerprint);
  CHECK(twice(one).unordered != twice(other).unordered);
}

TEST_CASE("The sign of zero and the payload of NaN count") {
  const std::int64_t size = 1;
  const auto digest = [&](float value) {
    const std::vector<float> data{value};
    return Fingerprint(View(data, ElementKind::kFloat32, size)).fingerprint;
  };
  CHECK(digest(0.0F) != digest(-0.0F));
  CHECK(digest(std::nanf("1")) != digest(std::nanf("2")));
  CHECK(digest(std::nanf("1")) == digest(std::nanf("1")));
}

// A random array of up to four dimensions in memory of its own, with random strides.
struct Strided {
  std::vector<std::int64_t> sizes, strides;
  Bytes memory;
  std::size_t origin = 0;
  Bytes logical;
};

Strided MakeStrided(std::mt19937_64& generator, std::uint32_t item) {
  Strided made;
  const std::size_t dims = generator() % 5;
  for (std::size_t dim = 0; dim < dims; ++dim) {
    made.sizes.push_back(static_cast<std::int64_t>(1 + generator() % (dims > 2 ? 7 : 90)));
  }
  std::vector<std::size_t> order(dims);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), generator);
  made.strides.resize(dims);
  std::int64_t step = 1 + static_cast<std::int64_t>(generator() % 2), low = 0, high = 0;
  for (const std::size_t dim : order) {
    const bool expanded = generator() % 8 == 0;
    made.strides[dim] = expanded ? 0 : generator() % 8 == 0 ? -step : step;
    if (!expanded) step *= made.sizes[dim] + static_cast<std::int64_t>(generator() % 3);
    const std::int64_t reach = made.strides[dim] * (made.sizes[dim] - 1);
    (reach < 0 ? low : high) += reach;
  }
  made.memory = Random(static_cast<std::size_t>(high - low + 1) * item, generator());
  made.origin = static_cast<std::size_t>(-low) * item;
  std::vector<std::int64_t> index(dims, 0);
  for (bool more = true; more;) {
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim < dims; ++dim) offset += index[dim] * made.strides[dim];
    const std::byte* at = made.memory.data() + made.origin + offset * item;
    made.logical.insert(made.logical.end(), at, at + item);
    more = false;
    for (std::size_t dim = dims; dim-- > 0 && !more;) {
      more = ++index[dim] < made.sizes[dim];
      if (!more) index[dim] = 0;
    }
  }
  return made;
}

TEST_CASE("Strides do not matter, only the logical content") {
  std::mt19937_64 generator(11);
  for (int round = 0; round < 3000; ++round) {
    const std::uint32_t item = kItems[generator() % 5];
    const Strided array = MakeStrided(generator, item);
    const Digest digest = Fingerprint({array.memory.data() + array.origin, item,
                                       ElementKind::kOpaque, array.sizes, array.strides});
    CHECK(Same(digest, Of(array.logical, item)));
  }
}

TEST_CASE("A large transposed matrix has the digest of its contiguous copy") {
  for (const std::uint32_t item : kItems) {
    const std::int64_t rows = 32, columns = static_cast<std::int64_t>(2 * kBlockBytes / item);
    const Bytes memory = Random(static_cast<std::size_t>(3 * rows * columns) * item, item);
    Bytes logical;
    for (std::int64_t batch = 0; batch < 3; ++batch) {
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) {
          const auto* at =
              memory.data() + ((batch * columns + column) * rows + row) * static_cast<int>(item);
          logical.insert(logical.end(), at, at + item);
        }
      }
    }
    const std::int64_t sizes[] = {3, rows, columns}, strides[] = {rows * columns, 1, rows};
    CHECK(Same(Fingerprint({memory.data(), item, ElementKind::kOpaque, sizes, strides}),
               Of(logical, item)));
  }
}

template <typename T>
Statistics Expected(const std::vector<T>& data) {
  Statistics expected;
  for (const T value : data) {
    if (value != value) {
      ++expected.nans;
      continue;
    }
    if constexpr (std::is_floating_point_v<T>) expected.infs += std::isinf(value);
    expected.zeros += value == 0;
    const auto number = static_cast<double>(value);
    if (!expected.has_range) expected.minimum = expected.maximum = number;
    expected.minimum = std::min(expected.minimum, number);
    expected.maximum = std::max(expected.maximum, number);
    expected.has_range = true;
  }
  return expected;
}

template <typename T>
void CheckStatistics(ElementKind kind) {
  std::mt19937_64 generator(5);
  using Limits = std::numeric_limits<T>;
  for (std::int64_t size = 0; size < 400; size = size < 70 ? size + 1 : size + 61) {
    std::vector<T> data;
    for (std::int64_t i = 0; i < size; ++i) {
      const auto pick = generator() % 20;
      T value = static_cast<T>(static_cast<std::int64_t>(generator()) >> (generator() % 64));
      if (pick == 0) value = 0;
      if (pick == 1) value = Limits::lowest();
      if (pick == 2) value = Limits::max();
      if constexpr (std::is_floating_point_v<T>) {
        if (pick == 3) value = Limits::infinity();
        if (pick == 4) value = -Limits::infinity();
        if (pick == 5) value = Limits::quiet_NaN();
        if (pick == 6) value = Limits::denorm_min();
      }
      data.push_back(value);
    }
    const Statistics expected = Expected(data);
    for (const Kernels& kernels : AvailableKernels()) {
      Statistics found;
      FingerprintWith(kernels, View(data, kind, size), &found);
      CAPTURE(kernels.name);
      CAPTURE(size);
      CHECK(found.nans == expected.nans);
      CHECK(found.infs == expected.infs);
      CHECK(found.zeros == expected.zeros);
      CHECK(found.has_range == expected.has_range);
      CHECK(found.minimum == expected.minimum);
      CHECK(found.maximum == expected.maximum);
    }
  }
}

TEST_CASE("Statistics agree with a loop over the elements") {
  CheckStatistics<float>(ElementKind::kFloat32);
  CheckStatistics<double>(ElementKind::kFloat64);
  CheckStatistics<std::int8_t>(ElementKind::kInt8);
  CheckStatistics<std::uint8_t>(ElementKind::kUInt8);
  CheckStatistics<std::int16_t>(ElementKind::kInt16);
  CheckStatistics<std::uint16_t>(ElementKind::kUInt16);
  CheckStatistics<std::int32_t>(ElementKind::kInt32);
  CheckStatistics<std::uint32_t>(ElementKind::kUInt32);
  CheckStatistics<std::int64_t>(ElementKind::kInt64);
  CheckStatistics<std::uint64_t>(ElementKind::kUInt64);
}

TEST_CASE("Statistics of 16-bit floats") {
  const std::int64_t size = 6;
  Statistics found;
  const std::vector<std::uint16_t> half{0x3c00, 0xbc00, 0x7c00, 0x7e00, 0x8000, 0x0001};
  Fingerprint(View(half, ElementKind::kFloat16, size), &found);
  CHECK(found.nans == 1);
  CHECK(found.infs == 1);
  CHECK(found.zeros == 1);
  CHECK(found.minimum == -1.0);
  CHECK(std::isinf(found.maximum));
  const std::vector<std::uint16_t> brain{0x3f80, 0xc000, 0xff80, 0x7fc0, 0x0000, 0x4000};
  Fingerprint(View(brain, ElementKind::kBFloat16, size), &found);
  CHECK(found.nans == 1);
  CHECK(found.infs == 1);
  CHECK(found.zeros == 1);
  CHECK(found.minimum == -std::numeric_limits<double>::infinity());
  CHECK(found.maximum == 2.0);
}

TEST_CASE("A negative zero is below a positive one in the range") {
  const std::vector<float> data{0.0F, -0.0F};
  const std::int64_t size = 2;
  Statistics found;
  Fingerprint(View(data, ElementKind::kFloat32, size), &found);
  CHECK(std::signbit(found.minimum));
  CHECK_FALSE(std::signbit(found.maximum));
}

TEST_CASE("Complex numbers are counted, without a range") {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> parts{0, 0, inf, 1, 1, std::nanf(""), 3, 4};
  const std::int64_t size = 4, one = 1;
  Statistics found;
  Fingerprint({parts.data(), 8, ElementKind::kComplex64, {&size, 1}, {&one, 1}}, &found);
  CHECK(found.nans == 1);
  CHECK(found.infs == 1);
  CHECK(found.zeros == 1);
  CHECK_FALSE(found.has_range);
}

TEST_CASE("Statistics do not change the digests") {
  const Bytes data = Random(50000, 3);
  const std::int64_t size = 12500, one = 1;
  const MemoryView view{data.data(), 4, ElementKind::kFloat32, {&size, 1}, {&one, 1}};
  Statistics statistics;
  CHECK(Same(Fingerprint(view, &statistics), Fingerprint(view)));
}

}  // namespace
}  // namespace opguard::capture
