#include "render/first_diff_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "render/first_diff_summary.h"
#include "render/numbers.h"

namespace opguard::render {
namespace {

using analysis::FirstDiff;
using analysis::OpSite;
using analysis::Side;
using tools::OpId;
using tools::TensorId;

Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json SequenceOrNull(std::int64_t sequence) { return sequence > 0 ? Json(sequence) : Json(nullptr); }

Json SiteJson(const OpSite& site, std::uint32_t rank) {
  return Json{{"id", OpId{rank, site.index}.Text()},
              {"name", site.name},
              {"seq_a", SequenceOrNull(site.seq_a)},
              {"seq_b", SequenceOrNull(site.seq_b)},
              {"module", OrNull(site.module)},
              {"phase", tools::PhaseName(site.phase)},
              {"step", site.step}};
}

// Where a side's op was called: the frame to show, and the user's own frame if that is another.
Json PlaceJson(const analysis::Trace& trace, std::int64_t op, const OpId& id) {
  if (op < 0) return nullptr;
  const auto frames = tools::FramesOf(trace.facts, trace.stack[static_cast<std::size_t>(op)]);
  const int shown = tools::ShownFrame(frames);
  if (shown < 0) return nullptr;
  const auto frame_json = [&](int depth) {
    const store::FrameRow& frame = frames[static_cast<std::size_t>(depth)];
    return Json{{"frame_id", tools::FrameId{id, static_cast<std::uint32_t>(depth)}.Text()},
                {"path", frame.path},
                {"line", frame.line},
                {"function", frame.function}};
  };
  Json place = frame_json(shown);
  const int user = tools::UserFrame(frames);
  if (user > shown) place["called_from"] = frame_json(user);
  return place;
}

Json InsideJson(const FirstDiff& first, std::size_t items) {
  if (first.inside_a.empty() && first.inside_b.empty()) return nullptr;
  const auto lines = [&](const std::vector<std::string>& inside) {
    Json list = Json::array();
    for (std::size_t i = 0; i < inside.size() && i < items; ++i) list.push_back(inside[i]);
    return list;
  };
  Json json{{"a", lines(first.inside_a)}};
  if (first.inside_a == first.inside_b) {
    json = Json{{"both", lines(first.inside_a)}};
  } else {
    json["b"] = lines(first.inside_b);
  }
  json["marked"] = first.inside_marked >= 0 ? Json(first.inside_marked) : Json(nullptr);
  json["total"] = std::max(first.inside_a.size(), first.inside_b.size());
  return json;
}

Json OpJson(const tools::Judged& judged, std::uint32_t rank, std::size_t items) {
  const OpSite& site = judged.first.op;
  const OpId id{rank, site.index};
  Json op = SiteJson(site, rank);
  op["rank"] = rank;
  op["lane"] = site.lane;
  op["module_class"] = OrNull(site.module_class);
  op["autograd_node"] = OrNull(site.node);
  op["recompute"] = site.recompute;
  op["at_a"] = PlaceJson(judged.traces->a, site.a, id);
  op["at_b"] = PlaceJson(judged.traces->b, site.b, id);
  const auto forward = [&](const analysis::Trace& trace, std::int64_t index) -> std::int64_t {
    if (index < 0) return -1;
    const std::uint32_t node = trace.node[static_cast<std::size_t>(index)];
    return node && node < trace.nodes.size() ? trace.IndexOf(trace.nodes[node].forward_op) : -1;
  };
  const bool on_b = site.b >= 0;
  const analysis::Trace& trace = on_b ? judged.traces->b : judged.traces->a;
  if (const std::int64_t op_index = forward(trace, on_b ? site.b : site.a); op_index >= 0) {
    const std::int64_t row = judged.alignment.IndexOf(on_b ? Side::kB : Side::kA, op_index);
    const OpId forward_id{rank, static_cast<std::uint64_t>(std::max<std::int64_t>(row, 0))};
    op["forward_op"] = forward_id.Text();
    op["forward_at"] = PlaceJson(trace, op_index, forward_id);
  }
  op["inside"] = InsideJson(judged.first, items);
  return op;
}

Json DifferingJson(const FirstDiff& first, std::uint32_t rank, std::size_t items) {
  Json list = Json::array();
  for (const auto& difference : first.differing) {
    if (list.size() >= items) break;
    Json entry{{"tensor_id", TensorId{{rank, first.op.index}, difference.slot}.Text()},
               {"slot", difference.slot},
               {"what", difference.what}};
    if (!difference.argument.empty()) entry["argument"] = difference.argument;
    list.push_back(std::move(entry));
  }
  return list;
}

Json ArgumentsJson(const FirstDiff& first, std::size_t items) {
  Json list = Json::array();
  for (const auto& difference : first.arguments) {
    if (list.size() >= items) break;
    Json entry{{"name", difference.name}, {"a", difference.a}, {"b", difference.b}};
    if (!difference.where.empty()) entry["inside"] = difference.where;
    list.push_back(std::move(entry));
  }
  return list;
}

Json SitesJson(const std::vector<OpSite>& sites, const analysis::Trace& trace, bool side_a,
               std::uint32_t rank, std::size_t items) {
  Json list = Json::array();
  for (const OpSite& site : sites) {
    if (list.size() >= items) break;
    Json entry = SiteJson(site, rank);
    entry["at"] = PlaceJson(trace, side_a ? site.a : site.b, OpId{rank, site.index});
    list.push_back(std::move(entry));
  }
  return list;
}

Json CoverageJson(const analysis::Coverage& coverage) {
  Json skipped = Json::object();
  for (const auto& [reason, count] : coverage.skipped) skipped[reason] = count;
  return Json{{"ops_a", coverage.ops_a},
              {"ops_b", coverage.ops_b},
              {"aligned", coverage.aligned},
              {"unaligned_a", coverage.unaligned_a},
              {"unaligned_b", coverage.unaligned_b},
              {"tensors", coverage.tensors},
              {"compared", coverage.compared},
              {"trusted", coverage.trusted},
              {"unreadable", coverage.unreadable},
              {"skipped", skipped},
              {"full", coverage.full}};
}

Json PassedOverJson(const FirstDiff& first, std::uint32_t rank, std::size_t items) {
  Json list = Json::array();
  for (const auto& passed : first.passed_over) {
    if (list.size() >= items) break;
    list.push_back(
        Json{{"kind", passed.kind == analysis::Verdict::kNone ? "equivalent_rewrite"
                                                              : analysis::VerdictName(passed.kind)},
             {"op_id", OpId{rank, passed.first_index}.Text()},
             {"ops", passed.rows},
             {"text", passed.text}});
  }
  return list;
}

// Facts of the two environments that differ, except those that differ between any two runs.
Json EnvironmentJson(const analysis::TracePair& pair, std::size_t items) {
  std::map<std::string, std::string> a, b;
  for (const auto& fact : pair.a.facts.environment) a[fact.key] = fact.value;
  for (const auto& fact : pair.b.facts.environment) b[fact.key] = fact.value;
  for (const auto& [key, value] : b) a.emplace(key, "");
  Json list = Json::array();
  for (const auto& [key, value] : a) {
    const auto other = b.find(key);
    const std::string value_b = other == b.end() ? "" : other->second;
    if (value == value_b || list.size() >= items) continue;
    list.push_back(Json{{"key", key}, {"a", OrNull(value)}, {"b", OrNull(value_b)}});
  }
  return list;
}

Json NextCalls(const tools::Judged& judged, const Json& answer, const std::string& pair_id) {
  Json next = Json::array();
  const FirstDiff& first = judged.first;
  if (first.status != analysis::Status::kDiverged) return next;
  const Json& op = answer.at("op");
  const char* place = op.at("at_b").is_object() ? "at_b" : "at_a";
  next.push_back(tools::Suggest("call_stack", {{"pair_id", pair_id}, {"op_id", op.at("id")}},
                                "from where the op was called on both sides"));
  if (op.at(place).is_object()) {
    Json arguments{{"pair_id", pair_id}, {"frame_id", op.at(place).at("frame_id")}};
    if (first.op.b < 0) arguments["side"] = "a";
    if (first.op.a >= 0 && first.op.b >= 0) arguments["diff"] = true;
    next.push_back(
        tools::Suggest("source_at", std::move(arguments), "the source line that called it"));
  }
  if (!answer.at("differing").empty()) {
    next.push_back(tools::Suggest(
        "tensor_compare",
        {{"pair_id", pair_id}, {"tensor_id", answer.at("differing")[0].at("tensor_id")}},
        "how the tensor differs"));
  }
  return next;
}

}  // namespace

Json FirstDiffJson(const tools::Judged& judged, const std::string& pair_id, std::uint32_t rank,
                   std::size_t items) {
  const FirstDiff& first = judged.first;
  const bool diverged = first.status == analysis::Status::kDiverged;
  Json answer{
      {"status", analysis::StatusName(first.status)},
      {"summary", FirstDiffSummary(judged)},
      {"coverage", CoverageJson(first.coverage)},
      {"verdict", diverged ? Json(analysis::VerdictName(first.verdict)) : Json(nullptr)},
      {"certainty", diverged ? Json(analysis::CertaintyName(first.certainty)) : Json(nullptr)},
      {"reason", first.reason},
      {"hypothesis", first.hypothesis},
      {"op", diverged ? OpJson(judged, rank, items) : Json(nullptr)},
      {"inputs_equal", diverged ? Json(first.inputs_equal) : Json(nullptr)},
      {"differing", DifferingJson(first, rank, items)},
      {"differing_total", first.differing.size()},
      {"arg_differences", ArgumentsJson(first, items)},
      {"arg_differences_total", first.arguments.size()},
      {"last_equal_op", first.has_last_equal ? SiteJson(first.last_equal, rank) : Json(nullptr)},
      {"equal_before",
       {{"ops", first.equal_before.ops},
        {"matmuls", first.equal_before.matmuls},
        {"collectives", first.equal_before.collectives}}}};
  if (!first.missing.empty() || !first.extra.empty()) {
    answer["only_on_a"] = SitesJson(first.missing, judged.traces->a, true, rank, items);
    answer["only_on_a_total"] = first.missing_total;
    answer["only_on_b"] = SitesJson(first.extra, judged.traces->b, false, rank, items);
    answer["only_on_b_total"] = first.extra_total;
  }
  answer["receivers"] = first.receivers;
  answer["passed_over"] = PassedOverJson(first, rank, items);
  answer["passed_over_total"] = first.passed_over.size();
  answer["environment_differences"] = EnvironmentJson(*judged.traces, items);
  answer["warnings"] = first.warnings;
  answer["next"] = NextCalls(judged, answer, pair_id);
  return answer;
}

}  // namespace opguard::render
