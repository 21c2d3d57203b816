#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "analysis/testing/pair_files.h"
#include "opguard/analysis/trace.h"
#include "opguard/store/trace_writer.h"

namespace opguard::analysis {
namespace {

using testing::MakePair;
using testing::TempFolder;
using testing::Tensor;
using testing::TraceBuilder;
using testing::WriteTrace;

TEST_CASE("LoadPair gives equal content equal ids although the files number it differently") {
  TraceBuilder a, b;
  a.Module("h.0", "Block").Op("aten::mm").In(Tensor("x")).Arg("k", "1").Out(Tensor("y", {2, 3}));
  a.NoModule().Op("aten::relu").In(Tensor("y", {2, 3})).Arg("k", "2").Out(Tensor("z"));
  b.NoModule().Op("aten::relu").In(Tensor("y", {2, 3})).Arg("k", "2").Out(Tensor("z"));
  b.Module("other").Op("aten::add").In(Tensor("z")).Out(Tensor("z"));
  b.Module("h.0", "Block").Op("aten::mm").In(Tensor("x")).Arg("k", "1").Out(Tensor("y", {2, 3}));
  const auto pair = MakePair(a, b);
  CHECK(pair->a.schema[0] == pair->b.schema[2]);
  CHECK(pair->a.schema[1] == pair->b.schema[0]);
  CHECK(pair->a.arguments[0] == pair->b.arguments[2]);
  CHECK(pair->a.arguments[1] == pair->b.arguments[0]);
  CHECK(pair->a.module[0] == pair->b.module[2]);
  CHECK(pair->a.module[1] == 0);
  CHECK(pair->b.arguments[1] == 0);
  CHECK(pair->a.module[0] != pair->b.module[1]);
  CHECK(pair->dictionary.schemas[pair->a.schema[1]].name == "aten::relu");
  CHECK(pair->dictionary.modules[pair->a.module[0]].class_name == "Block");
  CHECK(pair->a.tensor_geometry[1] == pair->b.tensor_geometry[5]);
}

TEST_CASE("LoadPair merges the traits of an operator and keeps overloads apart") {
  TraceBuilder a, b;
  a.Op("aten::add.Tensor").Traits(store::kWrites).Op("aten::add.Scalar");
  b.Op("aten::add.Tensor").Traits(store::kPointwise);
  const auto pair = MakePair(a, b);
  CHECK(pair->a.schema[0] == pair->b.schema[0]);
  CHECK(pair->a.schema[1] != pair->b.schema[0]);
  CHECK(pair->dictionary.schemas[pair->a.schema[0]].traits == (store::kWrites | store::kPointwise));
}

TEST_CASE("LoadPair parses geometry: shape and dtype ids, element count, item size") {
  TraceBuilder a;
  a.Op("aten::cat").In(Tensor("x", {2, 3})).In(Tensor("y", {2, 3}).Strides({1, 2}).Dtype("int64"));
  a.Out(Tensor("z", {4, 3}));
  const auto pair = MakePair(a, a);
  const auto geometry = [&](std::size_t tensor) -> const Geometry& {
    return pair->dictionary.geometries[pair->a.tensor_geometry[tensor]];
  };
  CHECK(geometry(0).numel == 6);
  CHECK(geometry(0).item_bytes == 4);
  CHECK(geometry(1).item_bytes == 8);
  CHECK(geometry(1).strides == std::vector<std::int64_t>{1, 2});
  CHECK(geometry(0).shape_id == geometry(1).shape_id);
  CHECK(geometry(0).shape_id != geometry(2).shape_id);
  CHECK(geometry(0).dtype_id != geometry(1).dtype_id);
  CHECK(geometry(0).dtype_id == geometry(2).dtype_id);
}

TEST_CASE("LoadPair assigns steps from the step table") {
  TraceBuilder a;
  a.Op("aten::a").Op("aten::b").Step().Op("aten::c").Step().Op("aten::d").Op("aten::e");
  const auto pair = MakePair(a, a);
  CHECK(pair->a.step == std::vector<std::uint32_t>{1, 1, 2, 3, 3});
}

TEST_CASE("LoadPair reads values and states of tensors") {
  TraceBuilder a;
  a.Op("aten::f").In(Tensor("x")).In(Tensor("w").Trusted());
  a.Out(Tensor("v").View()).Mut(0, Tensor("x").Unreadable());
  const auto pair = MakePair(a, a);
  CHECK(pair->a.fingerprint[0] == testing::ValueOf("x"));
  CHECK(pair->a.tensor_state == std::vector<TensorState>{TensorState::kFingerprinted,
                                                         TensorState::kTrusted, TensorState::kView,
                                                         TensorState::kUnreadable});
  CHECK(pair->a.tensor_storage[0] == pair->a.tensor_storage[3]);
  CHECK(pair->dictionary.slots[pair->a.tensor_slot[3]].role == "mut");
}

TEST_CASE("LoadPair reads the draws of every op that drew, whatever its schema says of it") {
  TraceBuilder a;
  a.Op("aten::f").Out(Tensor("x")).Op("mylib::composite").Rng("cpu", 7, 1, 2).Out(Tensor("y"));
  a.Op("aten::rand").Traits(store::kDraws).Rng("cuda:0", 8, 3, 4).Out(Tensor("z"));
  TraceBuilder b = a;
  const TempFolder folder;
  WriteTrace(a, folder.File("a.opguard"));
  store::Batch batch = b.Take();
  batch.rngs.push_back({9, "cpu", 7, 2, 3});  // its op was not committed any more
  auto writer = store::TraceWriter::Create(folder.File("b.opguard"));
  REQUIRE(writer.has_value());
  REQUIRE((*writer)->Append(batch).has_value());
  REQUIRE((*writer)->Commit().has_value());
  writer->reset();
  const auto pair = LoadPair(folder.File("a.opguard"), folder.File("b.opguard"));
  REQUIRE(pair.has_value());
  for (const Trace* trace : {&(*pair)->a, &(*pair)->b}) {
    REQUIRE(trace->rngs.size() == 2);
    CHECK(trace->rngs[0].op == 2);
    CHECK(trace->rngs[0].seed == 7);
    CHECK(trace->rngs[1].op == 3);
    CHECK(trace->rngs[1].generator == "cuda:0");
    CHECK(trace->rngs[1].state_after == 4);
  }
}

TEST_CASE("Tensor records are grouped by op even if lanes wrote them in another order") {
  TraceBuilder builder;
  builder.Op("aten::f").In(Tensor("x")).Out(Tensor("y"));
  builder.Op("aten::g").In(Tensor("u")).Out(Tensor("v"));
  store::Batch batch = builder.Take();
  batch.ops[0].first_tensor = 3;
  batch.ops[1].first_tensor = 1;
  for (store::TensorRow& row : batch.tensors) row.id = row.op == 1 ? row.id + 2 : row.id - 2;
  std::swap(batch.tensors[0], batch.tensors[2]);
  std::swap(batch.tensors[1], batch.tensors[3]);
  const TempFolder folder;
  auto writer = store::TraceWriter::Create(folder.File("t.opguard"));
  REQUIRE(writer.has_value());
  REQUIRE((*writer)->Append(batch).has_value());
  REQUIRE((*writer)->Finish().has_value());
  const auto pair = LoadPair(folder.File("t.opguard"), folder.File("t.opguard"));
  REQUIRE(pair.has_value());
  const Trace& trace = (*pair)->a;
  CHECK(trace.first_tensor == std::vector<std::uint64_t>{0, 2, 4});
  CHECK(trace.fingerprint[0] == testing::ValueOf("x"));
  CHECK(trace.fingerprint[3] == testing::ValueOf("v"));
  CHECK(trace.tensor_id == std::vector<std::int64_t>{3, 4, 1, 2});
}

TEST_CASE("A backward op finds its module through the forward op of its node") {
  TraceBuilder a;
  a.Phase(Phase::kForward).Module("fc").Op("aten::mm").Out(Tensor("y"));
  const std::int64_t forward = a.LastOp();
  a.Phase(Phase::kBackward).NoModule().Op("aten::mm").Node("MmBackward0", forward);
  const std::int64_t backward = a.LastOp();
  a.Op("aten::mul").Node("MmBackward0Backward0", backward);
  a.Op("aten::sum");
  const auto pair = MakePair(a, a);
  CHECK(ModuleOf(pair->a, 1) == pair->a.module[0]);
  CHECK(ModuleOf(pair->a, 2) == pair->a.module[0]);
  CHECK(ModuleOf(pair->a, 3) == 0);
}

TEST_CASE("Trace::IndexOf finds an op by its file id, also where ids have holes") {
  Trace trace;
  trace.op_id = {1, 2, 5, 9};
  CHECK(trace.IndexOf(1) == 0);
  CHECK(trace.IndexOf(5) == 2);
  CHECK(trace.IndexOf(9) == 3);
  CHECK(trace.IndexOf(3) == -1);
  CHECK(trace.IndexOf(10) == -1);
  CHECK(trace.IndexOf(0) == -1);
}

TEST_CASE("LoadPair loads traces without ops and traces that were not finished") {
  const TempFolder folder;
  WriteTrace(TraceBuilder(), folder.File("empty.opguard"));
  TraceBuilder some;
  some.Op("aten::f").In(Tensor("x"));
  WriteTrace(some, folder.File("cut.opguard"), "incomplete");
  const auto pair = LoadPair(folder.File("empty.opguard"), folder.File("cut.opguard"));
  REQUIRE(pair.has_value());
  CHECK((*pair)->a.ops() == 0);
  CHECK((*pair)->a.first_tensor == std::vector<std::uint64_t>{0});
  CHECK((*pair)->b.ops() == 1);
  CHECK_FALSE((*pair)->b.facts.complete());
}

TEST_CASE("LoadPair tells a missing file, a foreign file and a lying op apart") {
  const TempFolder folder;
  TraceBuilder some;
  some.Op("aten::f").In(Tensor("x"));
  WriteTrace(some, folder.File("good.opguard"));
  const auto code = [&](const std::string& name) {
    const auto pair = LoadPair(folder.File("good.opguard"), folder.File(name));
    REQUIRE_FALSE(pair.has_value());
    CHECK(pair.error().message.find(name) != std::string::npos);
    return pair.error().code;
  };
  CHECK(code("missing.opguard") == ErrorCode::kNotFound);

  std::ofstream(folder.File("foreign.opguard")) << "not a database at all, but long enough";
  CHECK(code("foreign.opguard") == ErrorCode::kNotATrace);

  store::Batch batch = some.Take();
  batch.ops[0].tensors = 1 << 30;
  auto writer = store::TraceWriter::Create(folder.File("lying.opguard"));
  REQUIRE(writer.has_value());
  REQUIRE((*writer)->Append(batch).has_value());
  REQUIRE((*writer)->Finish().has_value());
  CHECK(code("lying.opguard") == ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace opguard::analysis
