// 128-bit content hashes as identities of interned facts, and a flat map keyed by them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace opguard::capture {

struct Hash128 {
  std::uint64_t high = 0, low = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

// Two independent multiply-rotate streams over 64-bit words.
class Hasher {
 public:
  explicit Hasher(std::uint64_t seed = 0)
      : high_(seed ^ 0x9e3779b97f4a7c15U), low_(seed + 0xd1b54a32d192ed03U) {}
  void Add(std::uint64_t word) {
    high_ = std::rotl((high_ ^ word) * 0xff51afd7ed558ccdU, 29);
    low_ = std::rotl(low_ + word * 0xc4ceb9fe1a85ec53U, 37) * 0x9fb21c651e98df25U;
  }
  void Add(std::int64_t word) { Add(static_cast<std::uint64_t>(word)); }
  void Add(std::string_view text) {
    Add(static_cast<std::uint64_t>(text.size()));
    for (std::size_t at = 0; at < text.size(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + at, std::min<std::size_t>(8, text.size() - at));
      Add(word);
    }
  }
  // Never the all-zero value, which marks an empty slot of FlatMap.
  Hash128 Finish() const {
    return {Avalanche(high_ ^ std::rotl(low_, 32)), Avalanche(low_ + high_) | 1U};
  }

 private:
  static std::uint64_t Avalanche(std::uint64_t x) {
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93U;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93U;
    return x ^ (x >> 32);
  }
  std::uint64_t high_, low_;
};

inline Hash128 HashOf(std::string_view text) {
  Hasher hasher;
  hasher.Add(text);
  return hasher.Finish();
}

// Open addressing, grows by doubling, no single erase. Not thread-safe.
template <typename Value>
class FlatMap {
 public:
  Value* Find(const Hash128& key) {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = key.high & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].first == key) return &slots_[at].second;
      if (slots_[at].first == Hash128{}) return nullptr;
    }
  }
  // REQUIRES: `key` is absent.
  void Insert(const Hash128& key, Value value) {
    if (2 * (size_ + 1) > slots_.size()) Grow();
    Place(key, std::move(value));
    ++size_;
  }
  void Clear() {
    slots_.clear();
    size_ = 0;
  }
  std::size_t size() const { return size_; }

 private:
  void Place(const Hash128& key, Value value) {
    std::size_t at = key.high & (slots_.size() - 1);
    while (!(slots_[at].first == Hash128{})) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, std::move(value)};
  }
  void Grow() {
    auto old = std::move(slots_);
    slots_ = std::vector<std::pair<Hash128, Value>>(old.empty() ? 64 : 2 * old.size());
    for (auto& [key, value] : old) {
      if (!(key == Hash128{})) Place(key, std::move(value));
    }
  }
  std::vector<std::pair<Hash128, Value>> slots_;
  std::size_t size_ = 0;
};

}  // namespace opguard::capture
