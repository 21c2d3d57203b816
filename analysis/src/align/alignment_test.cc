#include "opguard/analysis/alignment.h"

#include "align_test_support.h"

namespace opguard::analysis {
namespace {

using testing::Tensor;
using testing::TraceBuilder;

// A: 0 1 2 3   B: 0 1 2 3 4 with A0=B1, A2=B2, A3=B4.
Alignment Example() {
  TraceBuilder a, b;
  for (const char* op : {"x::p", "x::only_a", "x::q", "x::r"}) a.Op(op).In(Tensor("t"));
  for (const char* op : {"x::only_b", "x::p", "x::q", "x::only_b2", "x::r"}) {
    b.Op(op).In(Tensor("t"));
  }
  return Align(*testing::MakePair(a, b));
}

TEST_CASE("Rows follow A, and ops only on B follow the A op they come after") {
  const Alignment alignment = Example();
  REQUIRE(alignment.rows == 6);
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {{-1, 0}, {0, 1},  {1, -1},
                                                                       {2, 2},  {-1, 3}, {3, 4}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Alignment::Row row = alignment.At(i);
    CHECK(row.a == expected[i].first);
    CHECK(row.b == expected[i].second);
  }
  CHECK(alignment.At(0).state == RowState::kOnlyB);
  CHECK(alignment.At(1).state == RowState::kEqual);
  CHECK(alignment.At(2).state == RowState::kOnlyA);
}

TEST_CASE("IndexOf is the inverse of At on both sides, also after runs were split") {
  Alignment alignment = Example();
  const auto check = [&] {
    for (std::uint64_t index = 0; index < alignment.rows; ++index) {
      const Alignment::Row row = alignment.At(index);
      if (row.a >= 0) CHECK(alignment.IndexOf(Side::kA, row.a) == static_cast<std::int64_t>(index));
      if (row.b >= 0) CHECK(alignment.IndexOf(Side::kB, row.b) == static_cast<std::int64_t>(index));
    }
    CHECK(alignment.IndexOf(Side::kA, 4) == -1);
    CHECK(alignment.IndexOf(Side::kB, -1) == -1);
  };
  check();
  Alignment one_run;
  one_run.runs = {{0, 0, 0, 6, RowState::kEqual}};
  one_run.rows = 6;
  CHECK(one_run.IndexOf(Side::kB, 5) == 5);
  one_run.runs = {{0, 0, 0, 2, RowState::kEqual}, {2, 2, 2, 4, RowState::kReceiver}};
  CHECK(one_run.IndexOf(Side::kB, 5) == 5);
  CHECK(one_run.IndexOf(Side::kB, 1) == 1);
  alignment.runs = one_run.runs;  // fewer runs than the cache knows of
  alignment.rows = 6;
  CHECK(alignment.IndexOf(Side::kA, 5) == 5);
}

TEST_CASE("RestoreMatches rebuilds the match vectors from the runs") {
  const Alignment alignment = Example();
  Alignment restored;
  restored.runs = alignment.runs;
  restored.rows = alignment.rows;
  RestoreMatches(restored);
  CHECK(restored.match_a == alignment.match_a);
  CHECK(restored.match_b == alignment.match_b);
}

TEST_CASE("RestoreMatches ignores what a damaged file claims") {
  Alignment damaged;
  damaged.runs = {{0, 0, 0, 2, RowState::kEqual}, {2, 900, 900, 1, RowState::kEqual}};
  damaged.rows = 3;
  RestoreMatches(damaged);
  CHECK(damaged.match_a == std::vector<std::int64_t>{0, 1, -1});
}

}  // namespace
}  // namespace opguard::analysis
