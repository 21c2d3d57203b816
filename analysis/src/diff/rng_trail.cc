#include "rng_trail.h"

#include <algorithm>

namespace opguard::analysis {
namespace {

const store::RngRow* Find(const Trace& trace, std::size_t op) {
  const std::int64_t id = trace.op_id[op];
  const auto at = std::lower_bound(
      trace.rngs.begin(), trace.rngs.end(), id,
      [](const store::RngRow& row, std::int64_t wanted) { return row.op < wanted; });
  return at != trace.rngs.end() && at->op == id ? &*at : nullptr;
}

// A side's draws from one generator, walked backwards.
class Draws {
 public:
  Draws(const Trace& trace, const store::RngRow* from) : trace_(trace), at_(from) {}
  const store::RngRow* Previous() {
    const std::string& generator = at_->generator;
    while (at_ != trace_.rngs.data()) {
      --at_;
      if (at_->generator == generator && trace_.IndexOf(at_->op) >= 0) return at_;
    }
    return nullptr;
  }
  std::size_t OpOf(const store::RngRow& row) const {
    return static_cast<std::size_t>(trace_.IndexOf(row.op));
  }

 private:
  const Trace& trace_;
  const store::RngRow* at_;
};

// Walks both sides back to where the states were last equal.
class Walk {
 public:
  Walk(const PairFacts& facts, RngTrail& trail)
      : facts_(facts),
        trail_(trail),
        draws_a_(facts.pair().a, trail.a),
        draws_b_(facts.pair().b, trail.b),
        next_a_(trail.a),
        next_b_(trail.b) {}

  void Run() {
    const store::RngRow* a = draws_a_.Previous();
    const store::RngRow* b = draws_b_.Previous();
    for (;;) {
      if (a && facts_.Match(Side::kA, draws_a_.OpOf(*a)) < 0) {
        trail_.extra_a.push_back(draws_a_.OpOf(*a));
        a = draws_a_.Previous();
      } else if (b && facts_.Match(Side::kB, draws_b_.OpOf(*b)) < 0) {
        trail_.extra_b.push_back(draws_b_.OpOf(*b));
        b = draws_b_.Previous();
      } else if (!a || !b || a->state_after == b->state_after) {
        return Conclude();
      } else if (a->state_before == b->state_before) {
        trail_.earlier_a = static_cast<std::int64_t>(draws_a_.OpOf(*a));
        trail_.why = RngWhy::kDrewOtherwise;
        return;
      } else {
        // The states differ here already, so what came after is not the reason.
        trail_.extra_a.clear();
        trail_.extra_b.clear();
        next_a_ = a;
        next_b_ = b;
        a = draws_a_.Previous();
        b = draws_b_.Previous();
      }
    }
  }

 private:
  void Conclude() {
    std::reverse(trail_.extra_a.begin(), trail_.extra_a.end());
    std::reverse(trail_.extra_b.begin(), trail_.extra_b.end());
    if (next_a_->seed != next_b_->seed) {
      trail_.why = RngWhy::kSeed;
    } else if (!trail_.extra_a.empty() || !trail_.extra_b.empty()) {
      trail_.why = RngWhy::kExtraDraws;
    } else {
      trail_.why = RngWhy::kUnseen;
    }
  }

  const PairFacts& facts_;
  RngTrail& trail_;
  Draws draws_a_, draws_b_;
  const store::RngRow* next_a_;  // the draws after the place looked at
  const store::RngRow* next_b_;
};

}  // namespace

bool HasDraw(const Trace& trace, std::size_t op) { return Find(trace, op) != nullptr; }

RngTrail FollowDraws(const PairFacts& facts, std::size_t op_a, std::size_t op_b) {
  RngTrail trail;
  trail.a = Find(facts.pair().a, op_a);
  trail.b = Find(facts.pair().b, op_b);
  if (!trail.a || !trail.b) return trail;
  if (trail.a->generator != trail.b->generator) {
    trail.why = RngWhy::kGenerator;
  } else if (trail.a->state_before == trail.b->state_before) {
    trail.why = RngWhy::kSameState;
  } else {
    Walk(facts, trail).Run();
  }
  return trail;
}

}  // namespace opguard::analysis
