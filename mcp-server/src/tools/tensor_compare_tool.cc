#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "render/numbers.h"
#include "tools/answer.h"
#include "tools/tools.h"

namespace opguard::tools {
namespace {

const TensorView* FindSlot(const OpView* op, const std::string& slot) {
  if (!op) return nullptr;
  const auto found = std::find_if(op->tensors.begin(), op->tensors.end(),
                                  [&](const TensorView& t) { return t.slot == slot; });
  return found == op->tensors.end() ? nullptr : &*found;
}

const char* StateName(store::TensorState state) {
  switch (state) {
    case store::TensorState::kFingerprinted:
      return "fingerprinted";
    case store::TensorState::kTrusted:
      return "trusted";
    case store::TensorState::kView:
      return "view";
    case store::TensorState::kUnreadable:
      return "unreadable";
  }
  return "unreadable";
}

Json NumberOrText(const std::optional<double>& value) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) return render::Double(*value);
  return *value;
}

Json StatisticJson(const TensorView& tensor) {
  if (!tensor.statistic) return nullptr;
  const store::StatisticRow& row = *tensor.statistic;
  return Json{{"nans", row.nans},
              {"infs", row.infs},
              {"zeros", row.zeros},
              {"minimum", NumberOrText(row.minimum)},
              {"maximum", NumberOrText(row.maximum)}};
}

Json TensorJson(const TensorView* tensor) {
  if (!tensor) return nullptr;
  Json json{{"dtype", tensor->dtype},
            {"device", tensor->device},
            {"sizes", tensor->sizes},
            {"strides", tensor->strides},
            {"layout", tensor->layout},
            {"storage_offset", tensor->storage_offset},
            {"state", StateName(tensor->row.state)}};
  if (tensor->row.has_fingerprint) {
    json["fingerprint"] = render::Hex(tensor->row.fingerprint);
    json["unordered"] = render::Hex(tensor->row.unordered);
  }
  json["statistics"] = StatisticJson(*tensor);
  return json;
}

std::string Status(const TensorView* a, const TensorView* b) {
  if (!a || !b) return "missing";
  if (!a->row.has_fingerprint || !b->row.has_fingerprint) return "unknown";
  if (a->dtype != b->dtype) return "different";
  // The same elements in the same order: a difference of shape, if any.
  if (a->row.fingerprint == b->row.fingerprint) return a->sizes == b->sizes ? "equal" : "different";
  return a->row.unordered == b->row.unordered ? "permuted" : "different";
}

// Facts that the statistics alone establish, such as a constant factor of the extremes.
Json Findings(const TensorView& a, const TensorView& b) {
  Json findings = Json::array();
  const auto differs = [&](const char* what, const std::string& x, const std::string& y) {
    if (x != y) findings.push_back(fmt::format("{} is {} on A and {} on B", what, x, y));
  };
  differs("dtype", a.dtype, b.dtype);
  differs("shape", a.sizes, b.sizes);
  differs("strides", a.strides, b.strides);
  differs("device", a.device, b.device);
  differs("layout", a.layout, b.layout);
  if (!a.statistic || !b.statistic) return findings;
  const store::StatisticRow &x = *a.statistic, &y = *b.statistic;
  const auto counts = [&](const char* what, std::int64_t n, std::int64_t m) {
    if (n != m) findings.push_back(fmt::format("{} {} on A, {} on B", what, n, m));
  };
  counts("NaN:", x.nans, y.nans);
  counts("Inf:", x.infs, y.infs);
  counts("zeros:", x.zeros, y.zeros);
  if (x.minimum && y.minimum && x.maximum && y.maximum) {
    const double low = *y.minimum / *x.minimum, high = *y.maximum / *x.maximum;
    if (std::isfinite(low) && std::isfinite(high) && *x.minimum != *x.maximum && low != 1.0 &&
        std::abs(low - high) <= 1e-6 * std::abs(low)) {
      findings.push_back(fmt::format(
          "minimum and maximum both differ by the factor {:.6g}: perhaps a constant scale", high));
    }
  }
  return findings;
}

std::string Sentence(const std::string& status, const std::string& place, const TensorView* a,
                     const TensorView* b) {
  if (status == "equal") {
    return fmt::format("{} is equal on both sides, bit for bit (fingerprint of its whole content).",
                       place);
  }
  if (status == "permuted") {
    return fmt::format("{} holds the same elements in another order or shape.", place);
  }
  if (status == "missing") {
    return fmt::format("{} exists on side {} only.", place, a ? "A" : "B");
  }
  if (status == "unknown") {
    const TensorView& blind = a->row.has_fingerprint ? *b : *a;
    return fmt::format(
        "{} has no fingerprint of its own ({}): compare the tensor that it views or "
        "the op that reads it.",
        place, StateName(blind.row.state));
  }
  std::string text = fmt::format("{} differs.", place);
  if (a->statistic && b->statistic && a->statistic->minimum && b->statistic->minimum) {
    text +=
        fmt::format(" Range on A [{}, {}], on B [{}, {}].", render::Double(*a->statistic->minimum),
                    render::Double(*a->statistic->maximum), render::Double(*b->statistic->minimum),
                    render::Double(*b->statistic->maximum));
  }
  return text;
}

std::vector<std::string> Slots(const OpView* a, const OpView* b) {
  std::vector<std::string> slots;
  for (const OpView* op : {a, b}) {
    if (!op) continue;
    for (const TensorView& tensor : op->tensors) {
      if (std::find(slots.begin(), slots.end(), tensor.slot) == slots.end() && slots.size() < 5) {
        slots.push_back(tensor.slot);
      }
    }
  }
  return slots;
}

// The call that records this step again with the calls inside operators fingerprinted as well.
Json Recapture(const analysis::Pair& pair, std::int64_t step) {
  auto request = pair.Attribute("request");
  Json call = request ? Json::parse(*request, nullptr, false) : Json();
  if (!call.is_object()) return nullptr;
  call["level"] = "inner";
  call["from_step"] = std::max<std::int64_t>(step, 1);
  call["steps"] = 1;
  return Suggest("run_pair", std::move(call),
                 "records this step again with the calls inside operators fingerprinted");
}

}  // namespace

Result<Json> TensorCompare(Workspace& workspace, const Json& arguments) {
  OPGUARD_ASSIGN(const TensorId id, ParseTensorId(arguments.at("tensor_id").get<std::string>()));
  OPGUARD_ASSIGN(analysis::Pair pair,
                 workspace.store().Open(arguments.at("pair_id").get<std::string>()));
  OPGUARD_ASSIGN(const auto both, workspace.FindOp(pair, id.op));
  const TensorView* a = FindSlot(both.a.get(), id.slot);
  const TensorView* b = FindSlot(both.b.get(), id.slot);
  if (!a && !b) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("{}: {} has no slot {}.", id.Text(), id.op.Text(), id.slot),
                "use a slot of this op", Slots(both.a.get(), both.b.get()));
  }
  const OpView& op = both.b ? *both.b : *both.a;
  const std::string& argument = (b ? b : a)->argument;
  const std::string place = fmt::format(
      "{}{} of {}", id.slot, argument.empty() ? "" : fmt::format(" ({})", argument), op.name);
  const std::string status = Status(a, b);
  Json answer{{"status", status},       {"summary", Sentence(status, place, a, b)},
              {"tensor_id", id.Text()}, {"op_id", id.op.Text()},
              {"op", op.name},          {"a", TensorJson(a)},
              {"b", TensorJson(b)},     {"findings", a && b ? Findings(*a, *b) : Json::array()},
              {"values", nullptr}};
  answer["warnings"] = Json::array();
  if (status == "different") {
    answer["warnings"].push_back(
        "element values were not stored: this rests on fingerprints and statistics. To see values, "
        "print the tensor in the training script at the line that call_stack shows, on both sides");
  }
  answer["next"] = Json::array({Suggest(
      "call_stack", {{"pair_id", pair.id()}, {"op_id", id.op.Text()}}, "where the op was called")});
  if (status != "equal") {
    if (Json call = Recapture(pair, op.step); call.is_object()) answer["next"].push_back(call);
  }
  return answer;
}

}  // namespace opguard::tools
