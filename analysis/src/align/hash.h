// Mixing of 64-bit hashes. Content only: no address, no id that depends on which side came first.
#pragma once

#include <cstdint>
#include <string_view>

namespace opguard::analysis {

inline std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6);
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

inline std::uint64_t HashText(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return Mix(hash, text.size());
}

}  // namespace opguard::analysis
