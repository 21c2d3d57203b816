// Whether a value that an unmatched op of one side made occurs anywhere on the other side.
#pragma once

#include <cstdint>
#include <vector>

#include "compare.h"

namespace opguard::analysis {

class ValueOccurrence {
 public:
  // Of the values that `side`'s unmatched ops made. Linear.
  ValueOccurrence(const PairFacts& facts, Side side);
  // False for a record without a value.
  bool OnOtherSide(std::size_t record) const;

 private:
  struct Entry {
    std::uint64_t key;
    bool occurs;
  };
  std::uint64_t KeyOf(Side side, std::size_t record) const;
  const PairFacts& facts_;
  Side side_;
  std::vector<Entry> entries_;  // ascending key
};

}  // namespace opguard::analysis
