// What the tests of Align share.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "analysis/testing/pair_files.h"
#include "analysis/testing/program.h"
#include "opguard/analysis/alignment.h"

namespace opguard::analysis {

using Match = std::vector<std::int64_t>;

inline Match MatchOf(const testing::TraceBuilder& a, const testing::TraceBuilder& b) {
  return Align(*testing::MakePair(a, b)).match_a;
}

// An aligned pair of programs with the right answer: statements of one number correspond.
struct AlignedPrograms {
  AlignedPrograms(const testing::Program& program_a, const testing::Program& program_b) {
    testing::TraceBuilder a, b;
    numbers_a = testing::Run(program_a, a);
    numbers_b = testing::Run(program_b, b);
    pair = testing::MakePair(a, b);
    alignment = Align(*pair);
    std::unordered_map<std::int64_t, std::int64_t> position;
    for (std::size_t j = 0; j < numbers_b.size(); ++j) {
      if (numbers_b[j] != 0) position[numbers_b[j]] = static_cast<std::int64_t>(j);
    }
    for (const std::int64_t number : numbers_a) {
      const auto at = position.find(number);
      expected.push_back(number == 0 || at == position.end() ? -1 : at->second);
    }
  }

  std::size_t Wrong() const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) wrong += expected[i] != alignment.match_a[i];
    return wrong;
  }

  std::vector<std::int64_t> numbers_a, numbers_b;
  std::unique_ptr<TracePair> pair;
  Alignment alignment;
  Match expected;  // for each op of A
};

}  // namespace opguard::analysis
