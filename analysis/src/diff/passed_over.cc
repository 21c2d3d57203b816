#include "passed_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "site.h"

namespace opguard::analysis {
namespace {

constexpr std::size_t kMaxRegions = 100;

std::size_t Index(std::int64_t value) { return static_cast<std::size_t>(value); }

// One kind of finding, however often it occurs.
struct Tally {
  Verdict kind;
  const char* text;
  std::uint64_t first = 0, rows = 0;
  void Add(std::uint64_t row) {
    if (rows++ == 0) first = row;
  }
};

class List {
 public:
  List(const Judge& judge, std::uint64_t end)
      : judge_(judge),
        facts_(judge.facts()),
        end_(end),
        latest_b_(facts_.dictionary().lanes.size(), -1) {}

  std::vector<PassedOver> Make() {
    for (const AlignedRun& run : facts_.alignment().runs) {
      for (std::uint64_t i = 0; i < run.count && run.index + i < end_; ++i) {
        const auto offset = static_cast<std::int64_t>(i);
        const std::uint64_t row = run.index + i;
        if (run.a >= 0 && run.b >= 0) {
          CloseRegion();
          Matched(Index(run.a) + i, run.b + offset, row);
        } else {
          Unmatched(run.a < 0 ? -1 : run.a + offset, run.b < 0 ? -1 : run.b + offset, row);
        }
      }
    }
    CloseRegion();
    return Merge();
  }

 private:
  void Matched(std::size_t a, std::int64_t b, std::uint64_t row) {
    const std::uint16_t bits = judge_.Bits(a);
    std::int64_t& latest = latest_b_[facts_.pair().a.lane[a]];
    const bool is_back = b < latest;
    latest = std::max(latest, b);
    if ((bits & kGarbageDiffers) != 0) garbage_.Add(row);
    const RowState state = judge_.StateOf(static_cast<std::int64_t>(a), b);
    if (state != RowState::kEqual && state != RowState::kEquivalent) return;
    if (is_back) reordered_.Add(row);
    if ((bits & kOutputDiffers) != 0) {
      rewritten_.Add(row);
    } else if ((bits & kInputDiffers) != 0 && (bits & kOnlyViews) == 0) {
      absorbed_.Add(row);
    } else if ((bits & kArgumentsDiffer) != 0) {
      arguments_.Add(row);
    } else if ((bits & kOutputLayoutDiffers) != 0) {
      layout_.Add(row);
    }
  }

  void Unmatched(std::int64_t a, std::int64_t b, std::uint64_t row) {
    const Side side = a >= 0 ? Side::kA : Side::kB;
    const std::size_t op = Index(a >= 0 ? a : b);
    if (judge_.Escapes(side, op)) return CloseRegion();
    if (region_.rows++ == 0) region_.first_index = row;
    ++(a >= 0 ? only_a_ : only_b_)[OpName(facts_, side, op)];
  }

  static std::string Names(const std::map<std::string, std::uint64_t>& counts) {
    std::string text;
    std::size_t shown = 0;
    for (const auto& [name, count] : counts) {
      if (++shown > 4) return text + ", ...";
      if (!text.empty()) text += ", ";
      text += count == 1 ? name : fmt::format("{} x{}", name, count);
    }
    return text.empty() ? "nothing" : text;
  }

  void CloseRegion() {
    if (region_.rows == 0) return;
    region_.kind = Verdict::kNone;
    if (only_a_.empty() || only_b_.empty()) {
      region_.text =
          fmt::format("only on {}: {}; every value read later is equal",
                      only_a_.empty() ? "B" : "A", Names(only_a_.empty() ? only_b_ : only_a_));
    } else {
      region_.text = fmt::format("A runs {}, B runs {}; every value read later is equal",
                                 Names(only_a_), Names(only_b_));
    }
    regions_.push_back(region_);
    region_ = {};
    only_a_.clear();
    only_b_.clear();
  }

  std::vector<PassedOver> Merge() {
    std::vector<PassedOver> list = std::move(regions_);
    if (list.size() > kMaxRegions) {
      PassedOver rest = list[kMaxRegions];
      rest.rows = 0;
      for (std::size_t i = kMaxRegions; i < list.size(); ++i) rest.rows += list[i].rows;
      rest.text = fmt::format(
          "{} more places where ops have no counterpart and every value read "
          "later is equal",
          list.size() - kMaxRegions);
      list.resize(kMaxRegions);
      list.push_back(rest);
    }
    for (const Tally* tally :
         {&garbage_, &reordered_, &rewritten_, &absorbed_, &arguments_, &layout_}) {
      if (tally->rows == 0) continue;
      list.push_back({tally->kind, tally->first, tally->rows, tally->text});
    }
    std::stable_sort(list.begin(), list.end(), [](const PassedOver& x, const PassedOver& y) {
      return x.first_index < y.first_index;
    });
    return list;
  }

  const Judge& judge_;
  const PairFacts& facts_;
  std::uint64_t end_;
  std::vector<std::int64_t> latest_b_;  // by lane
  PassedOver region_;
  std::vector<PassedOver> regions_;
  std::map<std::string, std::uint64_t> only_a_, only_b_;
  Tally garbage_{Verdict::kProbeArtifact,
                 "contents of memory that is new or about to be written over differ"};
  Tally reordered_{Verdict::kReordered, "independent ops in another order, each equal"};
  Tally rewritten_{Verdict::kNone, "outputs differ within a rewrite whose later values are equal"};
  Tally absorbed_{Verdict::kNone, "inputs differ and outputs are equal"};
  Tally arguments_{Verdict::kScalarArg, "arguments differ and outputs are equal"};
  Tally layout_{Verdict::kLayout, "strides or storage offsets differ and values are equal"};
};

}  // namespace

std::vector<PassedOver> ListPassedOver(const Judge& judge, std::uint64_t end) {
  return List(judge, end).Make();
}

}  // namespace opguard::analysis
