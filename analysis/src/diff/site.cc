#include "site.h"

#include <fmt/format.h>

#include <algorithm>

#include "op_facts.h"

namespace opguard::analysis {
namespace {

std::size_t Index(std::int64_t value) { return static_cast<std::size_t>(value); }

// The argument's name, or for an output "" (outputs have none).
std::string ArgumentName(const PairFacts& facts, Side side, std::size_t record) {
  const SlotFacts& slot = facts.SlotOf(side, record);
  if (slot.role == Role::kOutput || slot.position < 0) return {};
  const Trace& trace = facts.trace(side);
  const auto after = std::upper_bound(trace.first_tensor.begin(), trace.first_tensor.end(),
                                      static_cast<std::uint64_t>(record));
  const auto op = static_cast<std::size_t>(after - trace.first_tensor.begin()) - 1;
  const auto arguments = ParseSignature(facts.dictionary().schemas[trace.schema[op]].signature);
  const auto position = static_cast<std::size_t>(slot.position);
  return position < arguments.size() ? arguments[position].name : std::string{};
}

void Add(std::string& what, const std::string& part) {
  if (!what.empty()) what += ", ";
  what += part;
}

std::string What(const PairFacts& facts, const RecordPair& pair) {
  if (pair.a < 0) return "missing on A";
  if (pair.b < 0) return "missing on B";
  const auto& geometries = facts.dictionary().geometries;
  const Geometry& a = geometries[facts.pair().a.tensor_geometry[Index(pair.a)]];
  const Geometry& b = geometries[facts.pair().b.tensor_geometry[Index(pair.b)]];
  std::string what;
  if ((pair.bits & kDtypeDiffers) != 0) Add(what, "dtype");
  if ((pair.bits & kShapeDiffers) != 0) {
    Add(what, "shape");
  } else if ((pair.bits & kLayoutDiffers) != 0) {
    Add(what, a.row.strides != b.row.strides ? "strides" : "storage offset");
  }
  constexpr std::uint8_t kOther = kDtypeDiffers | kShapeDiffers;
  if ((pair.bits & kValueDiffers) != 0 && (pair.bits & kOther) == 0) {
    Add(what, (pair.bits & kOtherOrder) != 0 ? "order" : "value");
  }
  return what;
}

}  // namespace

std::string OpName(const PairFacts& facts, Side side, std::size_t op) {
  const store::SchemaRow& schema = facts.dictionary().schemas[facts.trace(side).schema[op]];
  return schema.overload.empty() ? schema.name : schema.name + "." + schema.overload;
}

std::string SlotName(const Dictionary& dictionary, std::uint32_t slot) {
  const store::SlotRow& row = dictionary.slots[slot];
  if (row.item < 0) return fmt::format("{}{}", row.role, row.position);
  return fmt::format("{}{}[{}]", row.role, row.position, row.item);
}

OpSite MakeSite(const PairFacts& facts, std::int64_t a, std::int64_t b) {
  OpSite site;
  const Side side = a >= 0 ? Side::kA : Side::kB;
  const std::size_t op = Index(a >= 0 ? a : b);
  const Trace& trace = facts.trace(side);
  const Dictionary& dictionary = facts.dictionary();
  const std::int64_t row = facts.alignment().IndexOf(side, static_cast<std::int64_t>(op));
  site.index = row < 0 ? 0 : static_cast<std::uint64_t>(row);
  site.a = a;
  site.b = b;
  site.seq_a = a >= 0 ? facts.pair().a.op_id[Index(a)] : 0;
  site.seq_b = b >= 0 ? facts.pair().b.op_id[Index(b)] : 0;
  site.name = OpName(facts, side, op);
  const std::uint32_t module = ModuleOf(trace, op);
  site.module = dictionary.modules[module].name;
  site.module_class = dictionary.modules[module].class_name;
  site.phase = trace.phase[op];
  site.step = trace.step[op];
  site.lane = dictionary.lanes[trace.lane[op]].name;
  if (trace.node[op] != 0) site.node = trace.nodes[trace.node[op]].name;
  site.recompute = (trace.flags[op] & store::kRecompute) != 0;
  return site;
}

TensorDifference MakeDifference(const PairFacts& facts, const RecordPair& pair) {
  TensorDifference difference;
  difference.tensor_a = pair.a;
  difference.tensor_b = pair.b;
  difference.slot = SlotName(facts.dictionary(), pair.slot);
  difference.argument = pair.a >= 0 ? ArgumentName(facts, Side::kA, Index(pair.a))
                                    : ArgumentName(facts, Side::kB, Index(pair.b));
  difference.what = What(facts, pair);
  return difference;
}

std::string Naming(const OpSite& site) {
  if (site.a >= 0 && site.b >= 0 && site.seq_a != site.seq_b) {
    return fmt::format("{} (op {} on A, {} on B)", site.name, site.seq_a, site.seq_b);
  }
  if (site.a >= 0 && site.b >= 0) return fmt::format("{} (op {})", site.name, site.seq_a);
  return site.a >= 0 ? fmt::format("{} (op {} on A)", site.name, site.seq_a)
                     : fmt::format("{} (op {} on B)", site.name, site.seq_b);
}

}  // namespace opguard::analysis
