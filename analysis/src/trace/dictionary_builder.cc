#include "dictionary_builder.h"

#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "geometry_text.h"

namespace opguard::analysis {
namespace {

using store::GeometryRow;
using store::LaneRow;
using store::ModuleRow;
using store::SchemaRow;
using store::SlotRow;
using store::TextRow;

// '\0' cannot occur in a name and keeps the parts of a key apart.
std::string Key(const LaneRow& row) { return row.name; }
std::string Key(const TextRow& row) { return row.text; }
std::string Key(const SchemaRow& row) { return row.name + '\0' + row.overload; }
std::string Key(const ModuleRow& row) { return row.name + '\0' + row.class_name; }
std::string Key(const SlotRow& row) {
  return row.role + '\0' + std::to_string(row.position) + '\0' + std::to_string(row.item);
}
std::string Key(const GeometryRow& row) {
  return row.dtype + '\0' + row.device + '\0' + row.sizes + '\0' + row.strides + '\0' +
         std::to_string(row.storage_offset) + '\0' + row.layout;
}

void Merge(SchemaRow& kept, const SchemaRow& other) { kept.traits |= other.traits; }
template <typename Row>
void Merge(Row&, const Row&) {}

// Interns rows of one kind over both sides; the empty row is always id 0.
template <typename Row>
class Interner {
 public:
  explicit Interner(std::vector<Row>& rows) : rows_(rows) {
    rows_.assign(1, Row{});
    ids_.emplace(Key(rows_[0]), 0);
  }

  std::vector<std::uint32_t> Take(std::vector<Row>& from) {
    std::vector<std::uint32_t> translation(from.size(), 0);
    for (std::size_t id = 1; id < from.size(); ++id) {
      const auto next = static_cast<std::uint32_t>(rows_.size());
      const auto [at, is_new] = ids_.emplace(Key(from[id]), next);
      translation[id] = at->second;
      if (is_new) {
        rows_.push_back(std::move(from[id]));
        rows_.back().id = next;
      } else {
        Merge(rows_[at->second], from[id]);
      }
    }
    std::vector<Row>().swap(from);
    return translation;
  }

 private:
  std::vector<Row>& rows_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

template <typename Row>
void Intern(std::vector<Row>& a, std::vector<Row>& b, std::vector<Row>& rows,
            std::vector<std::uint32_t>& from_a, std::vector<std::uint32_t>& from_b) {
  Interner<Row> interner(rows);
  from_a = interner.Take(a);
  from_b = interner.Take(b);
}

std::vector<Geometry> ParseGeometries(std::vector<GeometryRow> rows) {
  std::unordered_map<std::string, std::uint32_t> shapes, dtypes;
  std::vector<Geometry> geometries;
  geometries.reserve(rows.size());
  for (GeometryRow& row : rows) {
    Geometry geometry;
    // Ids of shapes and dtypes follow first use, so that the empty row gets 0.
    geometry.shape_id =
        shapes.emplace(row.sizes, static_cast<std::uint32_t>(shapes.size())).first->second;
    geometry.dtype_id =
        dtypes.emplace(row.dtype, static_cast<std::uint32_t>(dtypes.size())).first->second;
    geometry.item_bytes = ItemBytes(row.dtype);
    if (auto sizes = ParseIntList(row.sizes)) {
      if (const auto numel = NumelOf(*sizes)) geometry.numel = *numel;
      geometry.sizes = std::move(*sizes);
    }
    if (auto strides = ParseIntList(row.strides)) geometry.strides = std::move(*strides);
    geometry.row = std::move(row);
    geometries.push_back(std::move(geometry));
  }
  return geometries;
}

}  // namespace

Result<void> BuildDictionary(store::TraceFacts& a, store::TraceFacts& b, Dictionary& dictionary,
                             Translation& from_a, Translation& from_b) {
  Intern(a.lanes, b.lanes, dictionary.lanes, from_a.lanes, from_b.lanes);
  Intern(a.schemas, b.schemas, dictionary.schemas, from_a.schemas, from_b.schemas);
  Intern(a.arguments, b.arguments, dictionary.arguments, from_a.arguments, from_b.arguments);
  Intern(a.insides, b.insides, dictionary.insides, from_a.insides, from_b.insides);
  Intern(a.slots, b.slots, dictionary.slots, from_a.slots, from_b.slots);
  Intern(a.modules, b.modules, dictionary.modules, from_a.modules, from_b.modules);
  std::vector<GeometryRow> geometries;
  Intern(a.geometries, b.geometries, geometries, from_a.geometries, from_b.geometries);
  dictionary.geometries = ParseGeometries(std::move(geometries));
  if (dictionary.lanes.size() > std::numeric_limits<std::uint16_t>::max()) {
    return Fail(ErrorCode::kCorrupt, "the traces have more than 65535 lanes");
  }
  return {};
}

}  // namespace opguard::analysis
