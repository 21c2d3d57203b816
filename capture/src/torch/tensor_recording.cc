#include "tensor_recording.h"

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>

#include "recorder.h"
#include "tensors.h"

namespace opguard::capture {
namespace {

using store::TensorState;

// Comparing with every earlier tensor of a long list would cost more than it saves.
constexpr std::size_t kMostCompared = 16;

std::int64_t SlotId(Recorder& recorder, Lane& lane, Place place) {
  constexpr const char* kNames[] = {"in", "out", "mut"};
  Hasher hasher(static_cast<std::uint64_t>(place.role));
  hasher.Add(static_cast<std::int64_t>(place.position) << 32U | (place.item + 1));
  const Hash128 key = hasher.Finish();
  if (const std::int64_t* known = lane.slots.Find(key)) return *known;
  const std::int64_t id =
      recorder.catalogue.Slot(kNames[static_cast<int>(place.role)], place.position, place.item);
  lane.slots.Insert(key, id);
  return id;
}

std::int64_t GeometryId(Recorder& recorder, Lane& lane, const c10::TensorImpl& tensor) {
  const Hash128 key = GeometryHash(tensor);
  if (const std::int64_t* known = lane.geometries.Find(key)) return *known;
  const std::int64_t id = recorder.catalogue.Geometry(GeometryOf(tensor));
  lane.geometries.Insert(key, id);
  return id;
}

void SetDigest(store::TensorRow& row, const Digest& digest) {
  row.has_fingerprint = true;
  row.fingerprint = digest.fingerprint;
  row.unordered = digest.unordered;
}

// Reads the tensor, unless the trace says why it cannot.
void Read(Recorder& recorder, const Call& call, const c10::TensorImpl& tensor, bool statistics,
          TensorRecord& record) {
  if (!OnCpu(tensor)) {
    record.row.state = TensorState::kUnreadable;
    recorder.catalogue.AddNote(
        call.op, "device_not_supported",
        "tensors on " + tensor.unsafe_storage().device().str() + " are not fingerprinted");
    return;
  }
  if (!Readable(tensor)) {
    record.row.state = TensorState::kUnreadable;
    recorder.catalogue.AddNote(
        call.op, "outside_storage",
        "a tensor of " + call.facts->full_name + " reaches outside its storage");
    return;
  }
  record.has_statistics = statistics && HasStatistics(tensor);
  const Digest digest = DigestOf(tensor, record.has_statistics ? &record.statistics : nullptr);
  SetDigest(record.row, digest);
  recorder.CountBytes(ContentBytes(tensor));
  if (recorder.config.trusted) {
    recorder.storages.Remember(tensor, record.row.geometry, digest);
  }
}

TensorRecord& Add(Recorder& recorder, Lane& lane, const Call& call, const c10::TensorImpl& tensor,
                  Place place) {
  TensorRecord& record = lane.tensors.emplace_back();
  record.row.slot = SlotId(recorder, lane, place);
  record.row.state = TensorState::kFingerprinted;
  record.row.geometry = GeometryId(recorder, lane, tensor);
  record.row.storage = recorder.storages.Ordinal(tensor, call.op);
  return record;
}

// The same memory seen the same way, read for an earlier slot of the same role.
const TensorRecord* SeenBefore(const Lane& lane, std::size_t begin, const TensorRecord& record) {
  const std::size_t end = std::min(lane.tensors.size() - 1, begin + kMostCompared);
  for (std::size_t i = begin; i < end; ++i) {
    const store::TensorRow& other = lane.tensors[i].row;
    if (other.storage == record.row.storage && other.geometry == record.row.geometry &&
        other.has_fingerprint) {
      return &lane.tensors[i];
    }
  }
  return nullptr;
}

bool IsView(const Lane& lane, const Call& call, const c10::TensorImpl& tensor,
            const TensorRecord& record) {
  const auto written =
      lane.written_storages.begin() + static_cast<std::ptrdiff_t>(call.written_storages);
  const auto end = lane.written_storages.end();
  if (std::find(written, end, StorageOf(tensor)) != end) return false;
  return std::any_of(lane.tensors.begin() + static_cast<std::ptrdiff_t>(call.tensors),
                     lane.tensors.end() - 1, [&](const TensorRecord& other) {
                       return other.row.storage == record.row.storage && other.is_input;
                     });
}

}  // namespace

void RecordInput(Recorder& recorder, Lane& lane, const Call& call, const c10::TensorImpl& tensor,
                 Place place) {
  TensorRecord& record = Add(recorder, lane, call, tensor, place);
  record.is_input = true;
  Digest digest;
  if (const TensorRecord* seen = SeenBefore(lane, call.tensors, record)) {
    SetDigest(record.row, {seen->row.fingerprint, seen->row.unordered});
    record.row.state = seen->row.state;
  } else if (recorder.config.trusted &&
             recorder.storages.Unchanged(tensor, record.row.geometry, digest)) {
    record.row.state = TensorState::kTrusted;
    SetDigest(record.row, digest);
  } else {
    Read(recorder, call, tensor, false, record);
  }
}

void RecordOutput(Recorder& recorder, Lane& lane, const Call& call, const c10::TensorImpl& tensor,
                  Place place) {
  if (KindOf(tensor) != TensorKind::kPlain) {
    recorder.catalogue.AddNote(call.op, "not_plain",
                               "a result of " + call.facts->full_name +
                                   " has no plain memory (sparse, nested or a subclass)");
    return;
  }
  TensorRecord& record = Add(recorder, lane, call, tensor, place);
  if (place.role == Role::kOut && IsView(lane, call, tensor, record)) {
    record.row.state = TensorState::kView;
    return;
  }
  Read(recorder, call, tensor, recorder.config.statistics, record);
}

}  // namespace opguard::capture
