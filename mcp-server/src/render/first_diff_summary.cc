#include "render/first_diff_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "render/numbers.h"

namespace opguard::render {
namespace {

using analysis::FirstDiff;
using analysis::OpSite;
using analysis::Status;
using analysis::Verdict;

std::string Where(const OpSite& site) {
  std::string where = site.step > 0 ? fmt::format("step {}'s ", site.step) : std::string{};
  where += site.phase == store::Phase::kOther
               ? "ops outside forward, backward and optimizer"
               : fmt::format("{} phase", tools::PhaseName(site.phase));
  if (!site.module.empty()) {
    where += fmt::format(" (module {}{})", site.module,
                         site.module_class.empty() ? "" : ", " + site.module_class);
  }
  if (site.recompute) where += ", in an activation recompute";
  return where;
}

std::string FileLine(const store::FrameRow& frame) {
  const std::size_t slash = frame.path.rfind('/');
  return fmt::format(
      "{}:{}", slash == std::string::npos ? frame.path : frame.path.substr(slash + 1), frame.line);
}

// " Called at train.py:88." for the side that has the op, B before A.
std::string Called(const tools::Judged& judged, const OpSite& site) {
  const bool on_b = site.b >= 0;
  const analysis::Trace& trace = on_b ? judged.traces->b : judged.traces->a;
  const std::int64_t op = on_b ? site.b : site.a;
  if (op < 0) return {};
  const auto place = [&](std::int64_t index, const char* verb) -> std::string {
    const auto frames = tools::FramesOf(trace.facts, trace.stack[static_cast<std::size_t>(index)]);
    const int shown = tools::ShownFrame(frames);
    if (shown < 0) return {};
    std::string text =
        fmt::format(" {} at {}", verb, FileLine(frames[static_cast<std::size_t>(shown)]));
    if (const int user = tools::UserFrame(frames); user > shown) {
      text += fmt::format(", from {}", FileLine(frames[static_cast<std::size_t>(user)]));
    }
    return text + (on_b ? "." : " on A.");
  };
  const std::uint32_t node = trace.node[static_cast<std::size_t>(op)];
  if (node && node < trace.nodes.size()) {
    const std::int64_t forward = trace.IndexOf(trace.nodes[node].forward_op);
    if (forward >= 0) {
      return place(forward, "Its forward op was called") + place(op, "Backward called");
    }
  }
  return place(op, "Called");
}

std::string Tensors(const FirstDiff& first, const char* what) {
  std::vector<std::string> slots;
  for (const auto& difference : first.differing) {
    if (slots.size() == 3) break;
    slots.push_back(difference.argument.empty()
                        ? difference.slot
                        : fmt::format("{} ({})", difference.slot, difference.argument));
  }
  if (slots.empty()) return what;
  std::string text = fmt::format("{}", fmt::join(slots, ", "));
  if (first.differing.size() > slots.size()) {
    text += fmt::format(" and {} more", first.differing.size() - slots.size());
  }
  return text;
}

std::string Arguments(const FirstDiff& first) {
  std::vector<std::string> parts;
  for (const auto& difference : first.arguments) {
    if (parts.size() == 2) break;
    const std::string inside =
        difference.where.empty() ? "" : fmt::format(" of {} inside it", difference.where);
    parts.push_back(fmt::format("{}{} = {} on A and {} on B", difference.name, inside,
                                difference.a.empty() ? "absent" : difference.a,
                                difference.b.empty() ? "absent" : difference.b));
  }
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (first.arguments.size() > parts.size()) {
    text += fmt::format(" and {} more", first.arguments.size() - parts.size());
  }
  return text;
}

std::string Ops(const std::vector<OpSite>& sites, std::uint64_t total) {
  std::vector<std::string> names;
  for (const OpSite& site : sites) {
    if (names.size() == 3) break;
    names.push_back(site.name);
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (total > names.size()) text += fmt::format(" and {} more", total - names.size());
  return text;
}

std::string Structural(const FirstDiff& first) {
  std::string text = fmt::format("in {} the two sides run different ops", Where(first.op));
  if (first.missing_total > 0) {
    text += fmt::format("; only on A: {}", Ops(first.missing, first.missing_total));
  }
  if (first.extra_total > 0) {
    text += fmt::format("; only on B: {}", Ops(first.extra, first.extra_total));
  }
  if (!first.differing.empty()) {
    text += fmt::format("; {} of {} is the first value that differs afterwards",
                        Tensors(first, "an input"), first.op.name);
  }
  return text + ".";
}

std::string Agreement(const FirstDiff& first) {
  if (!first.inputs_equal) return {};
  return first.certainty == analysis::Certainty::kCertain
             ? " Everything it consumed is equal."
             : " What it is known to have consumed is equal.";
}

std::string Sentence(const FirstDiff& first) {
  const std::string op = fmt::format("in {} {}", Where(first.op), first.op.name);
  switch (first.verdict) {
    case Verdict::kScalarArg:
      return fmt::format("{} was called with {}.{}", op, Arguments(first),
                         first.inputs_equal ? " All tensors it read are equal." : "");
    case Verdict::kRng:
      return fmt::format("{} drew different random numbers.", op);
    case Verdict::kDtype:
      return fmt::format("{} has another dtype for {}.{}", op, Tensors(first, "a tensor"),
                         Agreement(first));
    case Verdict::kLayout:
      return fmt::format("{} has other strides for {}, the first thing that differs.", op,
                         Tensors(first, "a tensor"));
    case Verdict::kShape:
      return fmt::format("{} has another shape for {}.", op, Tensors(first, "a tensor"));
    case Verdict::kPermuted:
      return fmt::format("{}: {} holds the same elements in another order.{}", op,
                         Tensors(first, "its output"), Agreement(first));
    case Verdict::kStructural:
      return Structural(first);
    case Verdict::kInputData:
      return fmt::format(
          "{} read different data ({}) that no recorded op produced: look at what "
          "loads it.",
          op, Tensors(first, "an input"));
    case Verdict::kExternalWrite:
      return fmt::format("{} read {} changed by something that was not recorded.", op,
                         Tensors(first, "an input"));
    case Verdict::kUninitialised:
      return fmt::format("{} read memory that no recorded op had written ({}).", op,
                         Tensors(first, "an input"));
    case Verdict::kReceiver:
      return fmt::format("{} received a difference whose origin was not recorded ({}).", op,
                         Tensors(first, "an input"));
    default:
      return fmt::format("{} gave different {}.{}", op, Tensors(first, "outputs"),
                         Agreement(first));
  }
}

std::string Before(const analysis::EqualBefore& before) {
  return fmt::format(" {} before it ({}, {}) {} equal on both sides.", Plural(before.ops, "op"),
                     Plural(before.matmuls, "matrix product"),
                     Plural(before.collectives, "collective"), before.ops == 1 ? "is" : "are");
}

std::string Compared(const analysis::Coverage& coverage) {
  return fmt::format("{} of {} aligned ops' tensors compared ({} ops on A, {} on B)",
                     Grouped(coverage.compared), Grouped(coverage.tensors), Grouped(coverage.ops_a),
                     Grouped(coverage.ops_b));
}

}  // namespace

std::string FirstDiffSummary(const tools::Judged& judged) {
  const FirstDiff& first = judged.first;
  switch (first.status) {
    case Status::kDiverged:
      return fmt::format("diverged, {}: {}{}{}", analysis::VerdictName(first.verdict),
                         Sentence(first), Before(first.equal_before), Called(judged, first.op));
    case Status::kIdentical:
      return fmt::format("identical: every op matched and every tensor is equal, {}.",
                         Compared(first.coverage));
    case Status::kNoDifferenceInCoverage:
      return fmt::format(
          "no difference in what was compared: {}; see coverage and warnings for "
          "what was not.",
          Compared(first.coverage));
    case Status::kIncomplete:
      return fmt::format(
          "incomplete: no difference in the part that was recorded, {}; a trace "
          "was not finished.",
          Compared(first.coverage));
    case Status::kIncomparable:
      return fmt::format("incomparable: {}", first.reason);
    case Status::kSelfNondeterministic:
      return "self_nondeterministic";
  }
  return {};
}

}  // namespace opguard::render
