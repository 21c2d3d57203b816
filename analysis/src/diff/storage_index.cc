#include "storage_index.h"

#include <algorithm>
#include <limits>

namespace opguard::analysis {
namespace {

// Beyond this the answer is what was found so far: a flat buffer may have thousands of parts.
constexpr std::size_t kMaxLooked = 4096, kMaxWriters = 64;

struct Part {
  std::int64_t begin, end;
};

// Takes [begin, end) out of `parts`.
void Subtract(std::int64_t begin, std::int64_t end, std::vector<Part>& parts) {
  std::vector<Part> left;
  for (const Part& part : parts) {
    if (end <= part.begin || part.end <= begin) {
      left.push_back(part);
      continue;
    }
    if (part.begin < begin) left.push_back({part.begin, begin});
    if (end < part.end) left.push_back({end, part.end});
  }
  parts = std::move(left);
}

bool Touches(const std::vector<Part>& parts, std::int64_t begin, std::int64_t end) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Part& part) { return begin < part.end && part.begin < end; });
}

}  // namespace

StorageIndex::StorageIndex(const PairFacts& facts, Side side)
    : facts_(facts), trace_(facts.trace(side)), side_(side) {
  only_views_.resize(trace_.ops());
  for (std::size_t op = 0; op < trace_.ops(); ++op) {
    bool has_view = false, has_other = false;
    for (std::uint64_t t = trace_.first_tensor[op]; t < trace_.first_tensor[op + 1]; ++t) {
      if (facts_.SlotOf(side, t).role == Role::kInput) continue;
      (trace_.tensor_state[t] == TensorState::kView ? has_view : has_other) = true;
    }
    only_views_[op] = has_view && !has_other;
  }
  std::uint32_t largest = 0;
  for (const std::uint32_t storage : trace_.tensor_storage) largest = std::max(largest, storage);
  offsets_.assign(static_cast<std::size_t>(largest) + 2, 0);
  for (const std::uint32_t storage : trace_.tensor_storage) ++offsets_[Canonical(storage) + 1];
  for (std::size_t i = 1; i < offsets_.size(); ++i) offsets_[i] += offsets_[i - 1];
  records_.resize(trace_.tensors());
  std::vector<std::uint64_t> next(offsets_.begin(), offsets_.end() - 1);
  for (std::size_t t = 0; t < trace_.tensors(); ++t) {
    records_[next[Canonical(trace_.tensor_storage[t])]++] = static_cast<std::uint32_t>(t);
  }
}

std::uint32_t StorageIndex::Canonical(std::uint32_t storage) const {
  for (int depth = 0; depth < 8 && storage < trace_.storages.size(); ++depth) {
    const std::int64_t older = trace_.storages[storage].alias_of;
    if (older <= 0 || older >= static_cast<std::int64_t>(storage)) break;
    storage = static_cast<std::uint32_t>(older);
  }
  return storage;
}

StorageIndex::Bytes StorageIndex::BytesOf(std::size_t record) const {
  const Geometry& geometry = facts_.dictionary().geometries[trace_.tensor_geometry[record]];
  const std::uint32_t storage = trace_.tensor_storage[record];
  const bool is_strided = geometry.row.layout.starts_with("strided");
  if (!is_strided || geometry.item_bytes == 0 || Canonical(storage) != storage ||
      geometry.strides.size() != geometry.sizes.size()) {
    return {0, std::numeric_limits<std::int64_t>::max(), false};
  }
  if (geometry.numel == 0) return {0, 0, true};
  std::int64_t extent = 1;
  for (std::size_t i = 0; i < geometry.sizes.size(); ++i) {
    extent += (geometry.sizes[i] - 1) * geometry.strides[i];
  }
  const std::int64_t begin = geometry.row.storage_offset * geometry.item_bytes;
  return {begin, begin + extent * geometry.item_bytes, extent == geometry.numel};
}

std::size_t StorageIndex::OpOf(std::size_t record) const {
  const auto after = std::upper_bound(trace_.first_tensor.begin(), trace_.first_tensor.end(),
                                      static_cast<std::uint64_t>(record));
  return static_cast<std::size_t>(after - trace_.first_tensor.begin()) - 1;
}

bool StorageIndex::IsWrite(std::size_t record) const {
  return facts_.SlotOf(side_, record).role != Role::kInput &&
         trace_.tensor_state[record] != TensorState::kView;
}

StorageIndex::Range StorageIndex::RecordsOf(std::uint32_t storage) const {
  const std::uint32_t canonical = Canonical(storage);
  if (canonical == 0 || static_cast<std::size_t>(canonical) + 1 >= offsets_.size()) {
    return {records_.data(), records_.data()};  // storage 0: none, or not readable
  }
  return {records_.data() + offsets_[canonical], records_.data() + offsets_[canonical + 1]};
}

StorageIndex::Range StorageIndex::Before(std::uint32_t storage, std::size_t op) const {
  Range range = RecordsOf(storage);
  range.end = std::lower_bound(range.begin, range.end, trace_.first_tensor[op],
                               [](std::uint32_t t, std::uint64_t first) { return t < first; });
  return range;
}

std::vector<std::size_t> StorageIndex::Writers(std::size_t record, std::size_t before) const {
  std::vector<std::size_t> writers;
  const Bytes wanted = BytesOf(record);
  std::vector<Part> open = {{wanted.begin, wanted.end}};
  const Range range = Before(trace_.tensor_storage[record], before);
  std::size_t looked = 0;
  for (const auto* at = range.end; at != range.begin && !open.empty();) {
    if (++looked > kMaxLooked || writers.size() >= kMaxWriters) break;
    const std::size_t other = *--at;
    if (!IsWrite(other)) continue;
    const Bytes bytes = BytesOf(other);
    if (!Touches(open, bytes.begin, bytes.end)) continue;
    writers.push_back(other);
    const bool same_place = trace_.tensor_geometry[other] == trace_.tensor_geometry[record] &&
                            trace_.tensor_storage[other] == trace_.tensor_storage[record];
    if (same_place) break;
    if (bytes.is_dense) Subtract(bytes.begin, bytes.end, open);
  }
  return writers;
}

std::int64_t StorageIndex::Creator(std::size_t record, std::size_t before) const {
  const Range range = Before(trace_.tensor_storage[record], before);
  std::size_t looked = 0;
  for (const auto* at = range.end; at != range.begin && ++looked <= kMaxLooked;) {
    const std::size_t other = *--at;
    if (trace_.tensor_geometry[other] != trace_.tensor_geometry[record] ||
        facts_.SlotOf(side_, other).role == Role::kInput) {
      continue;
    }
    // A fresh tensor of this geometry is no view of another.
    return trace_.tensor_state[other] == TensorState::kView ? static_cast<std::int64_t>(other) : -1;
  }
  return -1;
}

std::int64_t StorageIndex::EarlierRead(std::size_t record, std::size_t before) const {
  const Range range = Before(trace_.tensor_storage[record], before);
  std::size_t looked = 0;
  for (const auto* at = range.end; at != range.begin && ++looked <= kMaxLooked;) {
    const std::size_t other = *--at;
    if (trace_.tensor_geometry[other] == trace_.tensor_geometry[record] &&
        facts_.SlotOf(side_, other).role == Role::kInput && facts_.HasValue(side_, other)) {
      return static_cast<std::int64_t>(other);
    }
  }
  return -1;
}

bool StorageIndex::IsRead(std::size_t record) const {
  const Bytes left = BytesOf(record);
  const Range range = RecordsOf(trace_.tensor_storage[record]);
  const std::uint64_t after = trace_.first_tensor[OpOf(record) + 1];
  const auto* at = std::lower_bound(range.begin, range.end, after,
                                    [](std::uint32_t t, std::uint64_t first) { return t < first; });
  for (std::size_t looked = 0; at != range.end; ++at) {
    if (++looked > kMaxLooked) return true;
    const Bytes bytes = BytesOf(*at);
    if (!left.Overlaps(bytes)) continue;
    const std::size_t op = OpOf(*at);
    if (facts_.Reads(side_, op, *at) && !only_views_[op]) return true;
    if (IsWrite(*at) && bytes.is_dense && bytes.begin <= left.begin && left.end <= bytes.end) {
      return false;
    }
  }
  return false;
}

std::int64_t StorageIndex::LastValue(std::uint32_t storage, std::uint32_t geometry,
                                     std::size_t end) const {
  const Range range = Before(storage, end);
  std::size_t looked = 0;
  for (const auto* at = range.end; at != range.begin && ++looked <= kMaxLooked;) {
    const std::size_t record = *--at;
    if (!facts_.HasValue(side_, record)) continue;
    if (geometry == 0 || trace_.tensor_geometry[record] == geometry) {
      return static_cast<std::int64_t>(record);
    }
  }
  return -1;
}

}  // namespace opguard::analysis
