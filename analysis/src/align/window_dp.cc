#include "window_dp.h"

#include <algorithm>
#include <limits>

namespace opguard::analysis {
namespace {

constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::min() / 2;
constexpr std::int32_t kContinues = 1;  // reward for a pair right after a pair
constexpr std::int32_t kBoundary = 6;   // other operators that made one value

enum Step : std::uint8_t { kSkipB = 0, kSkipA = 1, kPair = 2, kFromPair = 4 };

// Rows i = 0..n hold the columns lo(i)..lo(i) + width - 1 of j = 0..m.
class Band {
 public:
  Band(std::size_t n, std::size_t m, std::size_t band)
      : n_(n), m_(m), width_(band == 0 ? m + 1 : std::min(m + 1, 2 * band + 1)), half_(band) {}
  std::size_t width() const { return width_; }
  std::size_t lo(std::size_t i) const {
    if (width_ == m_ + 1) return 0;
    const std::size_t center = n_ == 0 ? 0 : i * m_ / n_;
    return std::min(center > half_ ? center - half_ : 0, m_ + 1 - width_);
  }

 private:
  std::size_t n_, m_, width_, half_;
};

class Table {
 public:
  Table(const std::vector<OpFeatures>& a, const std::vector<OpFeatures>& b, std::size_t band)
      : a_(a), b_(b), band_(a.size(), b.size(), band), steps_((a.size() + 1) * band_.width()) {}

  std::vector<Anchor> Solve() {
    Rows before(band_.width()), now(band_.width());
    FirstRow(now);
    for (std::size_t i = 1; i <= a_.size(); ++i) {
      std::swap(before, now);
      NextRow(i, before, now);
    }
    return Trace();
  }

 private:
  struct Rows {
    explicit Rows(std::size_t width) : best(width), paired(width) {}
    std::vector<std::int32_t> best, paired;  // best of all, best that ends with a pair
  };

  void FirstRow(Rows& row) const {
    std::fill(row.best.begin(), row.best.end(), 0);
    std::fill(row.paired.begin(), row.paired.end(), kNever);
  }

  void NextRow(std::size_t i, const Rows& before, Rows& now) {
    const std::size_t lo = band_.lo(i), lo_before = band_.lo(i - 1), width = band_.width();
    for (std::size_t k = 0; k < width; ++k) {
      const std::size_t j = lo + k;
      std::uint8_t step = kSkipA;
      std::int32_t best = kNever, paired = kNever;
      const auto at_before = [&](std::size_t column) {
        return column >= lo_before && column - lo_before < width;
      };
      if (at_before(j)) best = before.best[j - lo_before];
      if (k > 0 && now.best[k - 1] >= best) {
        best = now.best[k - 1];
        step = kSkipB;
      }
      if (j > 0 && at_before(j - 1)) {
        const std::int32_t similarity = Similarity(a_[i - 1], b_[j - 1]);
        if (similarity != kNoMatch) {
          const std::int32_t score = similarity == kSameValueOnly ? kBoundary : similarity;
          const std::int32_t open = before.best[j - 1 - lo_before] + score;
          const std::int32_t go_on = before.paired[j - 1 - lo_before] + score + kContinues;
          paired = std::max(open, go_on);
          if (go_on > open) step |= kFromPair;
          if (paired > best) {
            best = paired;
            step = static_cast<std::uint8_t>((step & kFromPair) | kPair);
          }
        }
      }
      now.best[k] = best;
      now.paired[k] = paired;
      steps_[i * width + k] = step;
    }
  }

  std::vector<Anchor> Trace() const {
    std::vector<Anchor> pairs;
    std::size_t i = a_.size(), j = b_.size();
    bool must_pair = false;
    while (i > 0 && j > 0) {
      const std::uint8_t step = steps_[i * band_.width() + (j - band_.lo(i))];
      if (must_pair || (step & 3) == kPair) {
        must_pair = (step & kFromPair) != 0;
        --i;
        --j;
        if (Similarity(a_[i], b_[j]) > 0) {
          pairs.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)});
        }
      } else if ((step & 3) == kSkipB) {
        --j;
      } else {
        --i;
      }
    }
    std::reverse(pairs.begin(), pairs.end());
    return pairs;
  }

  const std::vector<OpFeatures>& a_;
  const std::vector<OpFeatures>& b_;
  Band band_;
  std::vector<std::uint8_t> steps_;
};

}  // namespace

std::vector<Anchor> AlignBySimilarity(const std::vector<OpFeatures>& a,
                                      const std::vector<OpFeatures>& b, std::size_t band) {
  return Table(a, b, band).Solve();
}

}  // namespace opguard::analysis
