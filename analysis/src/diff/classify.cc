#include "classify.h"

#include <fmt/format.h>

#include <algorithm>

#include "known_ops.h"
#include "layout.h"
#include "rng_trail.h"
#include "site.h"
#include "text_diff.h"

namespace opguard::analysis {
namespace {

std::size_t Index(std::int64_t value) { return static_cast<std::size_t>(value); }

// One matched row on its way to a verdict.
class MatchedRow {
 public:
  MatchedRow(const Judge& judge, const Candidate& candidate, std::int64_t after_index,
             FirstDiff& diff)
      : judge_(judge),
        facts_(judge.facts()),
        a_(Index(candidate.a)),
        b_(Index(candidate.b)),
        after_index_(after_index),
        bits_(judge.Bits(a_)),
        diff_(diff) {
    facts_.ForEachPair(a_, b_, [&](const RecordPair& pair) { Sort(pair); });
  }

  void Classify() {
    CompareTexts();
    diff_.inputs_equal = inputs_.empty();
    diff_.certainty = Evidence();
    if (!inputs_.empty()) return FromInput();
    List(outputs_);
    if (IsView() || outputs_.empty()) {
      List(layouts_out_);
    }
    FromOutput();
  }

 private:
  void Sort(const RecordPair& pair) {
    const bool is_input = facts_.Slot(pair.slot).role == Role::kInput;
    if (is_input) {
      ++inputs_seen_;
      if ((pair.bits & kNotCompared) != 0) ++unreadable_;
      const bool trusted_a = pair.a >= 0 && IsTrusted(Side::kA, pair.a);
      if (trusted_a || (pair.b >= 0 && IsTrusted(Side::kB, pair.b))) ++trusted_;
    }
    if ((pair.bits & kContentBits) != 0 && (!is_input || Matters(pair))) {
      (is_input ? inputs_ : outputs_).push_back(pair);
    } else if ((pair.bits & kLayoutDiffers) != 0) {
      (is_input ? layouts_in_ : layouts_out_).push_back(pair);
    }
  }

  bool IsTrusted(Side side, std::int64_t record) const {
    return facts_.trace(side).tensor_state[Index(record)] == TensorState::kTrusted;
  }

  bool Matters(const RecordPair& pair) const {
    if (IsView()) return (pair.bits & (kDtypeDiffers | kShapeDiffers | kOneSided)) != 0;
    if ((pair.bits & (kDtypeDiffers | kShapeDiffers | kOneSided)) != 0) return true;
    return facts_.Reads(Side::kA, a_, Index(pair.a)) && facts_.Reads(Side::kB, b_, Index(pair.b));
  }

  bool IsView() const { return (bits_ & kOnlyViews) != 0; }

  void CompareTexts() {
    const Dictionary& dictionary = facts_.dictionary();
    const Trace &a = facts_.pair().a, &b = facts_.pair().b;
    diff_.arguments = CompareArguments(dictionary.arguments[a.arguments[a_]].text,
                                       dictionary.arguments[b.arguments[b_]].text);
    diff_.inside_a = SplitLines(dictionary.insides[a.inside[a_]].text);
    diff_.inside_b = SplitLines(dictionary.insides[b.inside[b_]].text);
    inside_ = CompareInside(diff_.inside_a, diff_.inside_b);
    diff_.inside_marked = inside_.line;
  }

  Certainty Evidence() const {
    if (unreadable_ > 0) return Certainty::kPossible;
    if (trusted_ > 0 || !diff_.coverage.skipped.empty()) return Certainty::kLikely;
    return Certainty::kCertain;
  }

  void AtMost(Certainty certainty) { diff_.certainty = std::max(diff_.certainty, certainty); }

  void List(const std::vector<RecordPair>& pairs) {
    for (const RecordPair& pair : pairs) diff_.differing.push_back(MakeDifference(facts_, pair));
  }

  std::string Slots(const std::vector<RecordPair>& pairs) const {
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(pairs.size(), 3); ++i) {
      if (i > 0) text += ", ";
      text += SlotName(facts_.dictionary(), pairs[i].slot);
    }
    if (pairs.size() > 3) text += fmt::format(" and {} more", pairs.size() - 3);
    return text;
  }

  const Geometry& GeometryOf(Side side, std::int64_t record) const {
    return facts_.dictionary().geometries[facts_.trace(side).tensor_geometry[Index(record)]];
  }

  std::string DtypeText(const RecordPair& pair) const {
    return fmt::format("{} is {} on A and {} on B", SlotName(facts_.dictionary(), pair.slot),
                       GeometryOf(Side::kA, pair.a).row.dtype,
                       GeometryOf(Side::kB, pair.b).row.dtype);
  }

  static const RecordPair* With(const std::vector<RecordPair>& pairs, std::uint8_t bits) {
    const auto at = std::find_if(pairs.begin(), pairs.end(), [&](const RecordPair& pair) {
      return (pair.bits & bits) != 0 && (pair.bits & kOneSided) == 0;
    });
    return at == pairs.end() ? nullptr : &*at;
  }

  std::string WriterText(const Explanation& explanation, Side side) const {
    for (const Cause& writer : explanation.writers) {
      if (writer.side != side) continue;
      const auto op = static_cast<std::int64_t>(writer.op);
      return Naming(side == Side::kA ? MakeSite(facts_, op, -1) : MakeSite(facts_, -1, op));
    }
    return "no recorded op";
  }

  void FromInput() {
    List(inputs_);
    const RecordPair& pair = inputs_.front();
    const Explanation explanation = judge_.explainer().Explain(a_, b_, pair);
    const std::string slot = SlotName(facts_.dictionary(), pair.slot);
    if (const RecordPair* dtype = With(inputs_, kDtypeDiffers)) {
      diff_.verdict = Verdict::kDtype;
      diff_.reason = fmt::format("{}; no recorded op cast it", DtypeText(*dtype));
      return;
    }
    switch (explanation.why) {
      case Why::kOneSided:
        diff_.verdict = Verdict::kStructural;
        diff_.reason =
            fmt::format("only {} gives this op a tensor at {}", pair.a >= 0 ? "A" : "B", slot);
        return;
      case Why::kGarbage:
        diff_.verdict = Verdict::kUninitialised;
        diff_.reason = fmt::format(
            "{} is memory that was allocated by a recorded op and not written since", slot);
        diff_.hypothesis =
            "what new memory holds differs from run to run; "
            "torch.utils.deterministic.fill_uninitialized_memory makes it visible";
        if (!explanation.writers.empty()) AtMost(Certainty::kPossible);
        return;
      case Why::kChangedUnseen:
        diff_.verdict = Verdict::kExternalWrite;
        diff_.reason = fmt::format(
            "{} differs although its last recorded writers agree ({}): something that was not "
            "recorded wrote it",
            slot, WriterText(explanation, Side::kA));
        AtMost(explanation.is_proven ? Certainty::kLikely : Certainty::kPossible);
        return;
      case Why::kOtherProducer:
        diff_.verdict = Verdict::kStructural;
        diff_.reason =
            fmt::format("{} is another value: on A what {} made, on B what {} made", slot,
                        WriterText(explanation, Side::kA), WriterText(explanation, Side::kB));
        AtMost(Certainty::kLikely);
        return;
      default:
        break;
    }
    if (explanation.why != Why::kFilledUnseen) {
      diff_.verdict = Verdict::kReceiver;
      diff_.reason = fmt::format("{} was already different", slot);
      AtMost(Certainty::kPossible);
      return;
    }
    diff_.verdict = Verdict::kInputData;
    diff_.reason = fmt::format("{} already differs and no recorded op made its values", slot);
    if (facts_.pair().a.phase[a_] == Phase::kOptimizer) {
      diff_.reason += "; gradients and earlier ops agree, so it is state of the optimizer";
      diff_.hypothesis = "state that the optimizer keeps between steps was not restored alike";
    }
  }

  void FromOutput() {
    if (facts_.Facts(Side::kA, a_).attaches) {
      diff_.verdict = Verdict::kInputData;
      diff_.reason = "the memory that it makes visible was filled outside recorded ops";
      return;
    }
    if (const RecordPair* pair = With(outputs_, kDtypeDiffers)) {
      diff_.verdict = Verdict::kDtype;
      diff_.reason = DtypeText(*pair);
      return;
    }
    if (!diff_.arguments.empty()) return ScalarArgument("");
    if (Draws() && FromDraw()) return;
    if (const RecordPair* pair = With(outputs_, kShapeDiffers)) {
      diff_.verdict = Verdict::kShape;
      diff_.reason = fmt::format(
          "{} has sizes {} on A and {} on B", SlotName(facts_.dictionary(), pair->slot),
          GeometryOf(Side::kA, pair->a).row.sizes, GeometryOf(Side::kB, pair->b).row.sizes);
      return;
    }
    if (!inside_.arguments.empty()) {
      diff_.arguments = inside_.arguments;
      return ScalarArgument(" of a call inside it");
    }
    if (!layouts_in_.empty()) return FromLayout();
    if (IsView()) {
      diff_.verdict = Verdict::kLayout;
      diff_.reason =
          fmt::format("{} looks at another place of the same memory", Slots(layouts_out_));
      return;
    }
    Origin();
  }

  void ScalarArgument(const char* where) {
    diff_.verdict = Verdict::kScalarArg;
    const ArgumentDifference& first = diff_.arguments.front();
    const auto text = [](const std::string& value) {
      return value.empty() ? std::string("absent") : value;
    };
    diff_.reason =
        fmt::format("{}{} is {} on A and {} on B", first.name, where, text(first.a), text(first.b));
    if (diff_.arguments.size() > 1) {
      diff_.reason += fmt::format(" ({} arguments differ)", diff_.arguments.size());
    }
  }

  bool Draws() const {
    return facts_.Facts(Side::kA, a_).draws || HasDraw(facts_.pair().a, a_) ||
           HasDraw(facts_.pair().b, b_);
  }

  // False if the generator does not explain it.
  bool FromDraw() {
    const RngTrail trail = FollowDraws(facts_, a_, b_);
    diff_.verdict = Verdict::kRng;
    switch (trail.why) {
      case RngWhy::kSameState:
        return false;
      case RngWhy::kNotRecorded:
        diff_.reason = "it draws random numbers; the generator's state was not recorded";
        AtMost(Certainty::kLikely);
        return true;
      case RngWhy::kGenerator:
        diff_.reason = fmt::format("it drew from generator {} on A and {} on B", trail.a->generator,
                                   trail.b->generator);
        return true;
      case RngWhy::kSeed:
        diff_.reason = fmt::format("generator {} was seeded with {} on A and {} on B",
                                   trail.a->generator, trail.a->seed, trail.b->seed);
        return true;
      case RngWhy::kDrewOtherwise:
        diff_.reason =
            fmt::format("the generator's state differs since {} drew another amount on each side",
                        Naming(MakeSite(facts_, trail.earlier_a,
                                        facts_.Match(Side::kA, Index(trail.earlier_a)))));
        return true;
      case RngWhy::kExtraDraws:
        FromExtraDraws(trail);
        return true;
      case RngWhy::kUnseen:
        break;
    }
    diff_.reason = fmt::format(
        "the state of generator {} differs before it, with the same seed {} and no recorded draw "
        "between: it was drawn from, or set, outside recorded ops",
        trail.a->generator, trail.a->seed);
    AtMost(Certainty::kLikely);
    return true;
  }

  void FromExtraDraws(const RngTrail& trail) {
    const std::string later = Naming(diff_.op);
    std::int64_t a = trail.extra_a.empty() ? -1 : static_cast<std::int64_t>(trail.extra_a[0]);
    std::int64_t b = trail.extra_b.empty() ? -1 : static_cast<std::int64_t>(trail.extra_b[0]);
    if (a >= 0 && b >= 0) {
      (judge_.RowOf(Side::kA, Index(a)) <= judge_.RowOf(Side::kB, Index(b)) ? b : a) = -1;
    }
    const OpSite site = MakeSite(facts_, a, b);
    diff_.verdict = Verdict::kStructural;
    diff_.reason = fmt::format(
        "{} on A and {} on B draw from generator {} with no counterpart, {} first; so {} starts "
        "from another state",
        trail.extra_a.size(), trail.extra_b.size(), trail.a->generator, Naming(site), later);
    ListOneSided(facts_, Side::kA, trail.extra_a, diff_);
    ListOneSided(facts_, Side::kB, trail.extra_b, diff_);
    if (static_cast<std::int64_t>(site.index) <= after_index_) return;
    MoveTo(site);
  }

  // Names another row than the one whose values differ first.
  void MoveTo(const OpSite& site) {
    diff_.op = site;
    diff_.differing.clear();
    diff_.arguments.clear();
    diff_.inside_a.clear();
    diff_.inside_b.clear();
    diff_.inside_marked = -1;
    if (site.a >= 0 && site.b >= 0) {
      facts_.ForEachPair(Index(site.a), Index(site.b), [&](const RecordPair& pair) {
        if (facts_.Slot(pair.slot).role == Role::kInput || pair.bits == 0) return;
        diff_.differing.push_back(MakeDifference(facts_, pair));
      });
      const Dictionary& dictionary = facts_.dictionary();
      diff_.arguments =
          CompareArguments(dictionary.arguments[facts_.pair().a.arguments[Index(site.a)]].text,
                           dictionary.arguments[facts_.pair().b.arguments[Index(site.b)]].text);
      return;
    }
    const Side side = site.a >= 0 ? Side::kA : Side::kB;
    const Trace& trace = facts_.trace(side);
    const std::size_t op = Index(site.a >= 0 ? site.a : site.b);
    for (std::uint64_t t = trace.first_tensor[op]; t < trace.first_tensor[op + 1]; ++t) {
      if (facts_.SlotOf(side, t).role == Role::kInput) continue;
      const auto record = static_cast<std::int64_t>(t);
      diff_.differing.push_back(
          MakeDifference(facts_, {side == Side::kA ? record : -1, side == Side::kB ? record : -1,
                                  trace.tensor_slot[t], kOneSided}));
    }
  }

  void FromLayout() {
    const RecordPair& pair = layouts_in_.front();
    const Geometry &a = GeometryOf(Side::kA, pair.a), &b = GeometryOf(Side::kB, pair.b);
    diff_.verdict = Verdict::kLayout;
    AtMost(Certainty::kLikely);
    const std::string what =
        a.row.strides != b.row.strides
            ? fmt::format("strides {} on A and {} on B", a.row.strides, b.row.strides)
            : fmt::format("storage offset {} on A and {} on B", a.row.storage_offset,
                          b.row.storage_offset);
    diff_.reason = fmt::format("all values that {} consumed are equal, but {} has {}",
                               Naming(diff_.op), SlotName(facts_.dictionary(), pair.slot), what);
    const LayoutOrigin origin = FindLayoutOrigin(facts_, judge_.explainer(), a_, b_, pair);
    if (!origin.is_known) {
      List(layouts_in_);
      return;
    }
    const OpSite site = MakeSite(facts_, origin.a, origin.b);
    diff_.reason += fmt::format("; the layout comes from {}", Naming(site));
    if (origin.a < 0) ListOneSided(facts_, Side::kB, {Index(origin.b)}, diff_);
    if (origin.b < 0) ListOneSided(facts_, Side::kA, {Index(origin.a)}, diff_);
    if (static_cast<std::int64_t>(site.index) > after_index_ && site.index < diff_.op.index) {
      MoveTo(site);
    } else {
      List(layouts_in_);
    }
  }

  void Origin() {
    const bool all_reordered =
        !outputs_.empty() &&
        std::all_of(outputs_.begin(), outputs_.end(),
                    [](const RecordPair& pair) { return (pair.bits & kOtherOrder) != 0; });
    const std::string slots = Slots(outputs_);
    diff_.verdict = all_reordered ? Verdict::kPermuted : Verdict::kOrigin;
    diff_.reason =
        all_reordered
            ? fmt::format("{} holds the same elements in another order; all inputs agree", slots)
            : fmt::format("{} differs although its {} inputs, arguments and their layouts agree",
                          slots, inputs_seen_);
    if (inside_.is_other_call) {
      diff_.reason += fmt::format("; the calls inside it differ from line {} on", inside_.line + 1);
    }
    const store::SchemaRow& schema = facts_.dictionary().schemas[facts_.pair().a.schema[a_]];
    diff_.hypothesis = KnownExplanation(
        schema.name, DeviceOf(), facts_.dictionary().arguments[facts_.pair().a.arguments[a_]].text);
    if (diff_.hypothesis.empty() && (schema.traits & store::kNondeterministic) != 0) {
      diff_.hypothesis = schema.name + " is tagged as nondeterministic by torch";
    }
    if (!facts_.Facts(Side::kA, a_).is_trivial || inside_.is_other_call) return;
    diff_.certainty = Certainty::kPossible;
    diff_.reason +=
        "; an op of this kind gives one result for equal inputs: suspect an unrecorded producer or "
        "writer of its memory";
  }

  std::string DeviceOf() const {
    const Trace& trace = facts_.pair().a;
    const std::uint64_t first = trace.first_tensor[a_];
    if (first == trace.first_tensor[a_ + 1]) return {};
    return facts_.dictionary().geometries[trace.tensor_geometry[first]].row.device;
  }

  const Judge& judge_;
  const PairFacts& facts_;
  std::size_t a_, b_;
  std::int64_t after_index_;
  std::uint16_t bits_;
  FirstDiff& diff_;
  InsideDifference inside_;
  std::vector<RecordPair> inputs_, outputs_, layouts_in_, layouts_out_;
  std::uint64_t inputs_seen_ = 0, trusted_ = 0, unreadable_ = 0;
};

}  // namespace

void Classify(const Judge& judge, const Candidate& candidate, std::int64_t after_index,
              FirstDiff& diff) {
  diff.op = MakeSite(judge.facts(), candidate.a, candidate.b);
  if (candidate.a >= 0 && candidate.b >= 0) {
    MatchedRow(judge, candidate, after_index, diff).Classify();
  } else {
    ClassifyRegion(judge, candidate, diff);
  }
}

}  // namespace opguard::analysis
