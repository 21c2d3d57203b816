// What the writer is given arrives in the file, and comes back.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "example_trace.h"
#include "opguard/store/trace_reader.h"
#include "opguard/store/trace_writer.h"

namespace opguard::store {
namespace {

using testing::ExampleBatch;
using testing::MoreOps;
using testing::Query;
using testing::TempFolder;
using testing::WriteExample;

TEST_CASE("every field of every row is where the schema says") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  WriteExample(path);
  const std::map<std::string, std::vector<std::string>> tables{
      {"lane", {"1|main"}},
      {"schema", {"1|aten::add|Tensor|add(Tensor self) -> Tensor|16"}},
      {"arguments", {"1|alpha=1"}},
      {"inside", {"1|checkpoint"}},
      {"slot", {"1|out|0|-1"}},
      {"geometry", {"1|float32|cpu|[2, 3]|[3, 1]|7|strided"}},
      {"module", {"1|model.fc|Linear"}},
      {"frame", {"1|/code/train.py|12|step|2"}},
      {"stack", {"1|0|1"}},
      {"step", {"1|1"}},
      {"node", {"1|AddBackward0|3"}},
      {"storage", {"1|24|5|6"}},
      {"op", {"1|1|2|1|1|1|1|1|1|0|1|1|3"}},
      {"tensor", {"1|1|1|1|1|1|-1|-9223372036854775808"}},
      {"statistic", {"1|2|3|4|-0.5|NULL"}},
      {"rng", {"1|cpu|42|-81985529216486896|8"}},
      {"gap", {"1|4|9|not asked for"}},
      {"note", {"1|1|outside_storage|it's \"quoted\""}},
      {"environment", {"torch|2.13.0"}},
      {"trace", {"ops|1", "rank|0", "status|complete", "tensors|1"}}};
  for (const auto& [table, rows] : tables) {
    CAPTURE(table);
    CHECK(Query(path, "SELECT * FROM " + table) == rows);
  }
  CHECK(Query(path, "SELECT id, path, sha256, bytes, text_zstd IS NULL FROM source") ==
        std::vector<std::string>{"1|/code/train.py|abc|5|0", "2|/code/huge.py|def|9|1"});
  CHECK(Query(path, "PRAGMA application_id") == std::vector<std::string>{"1330661188"});
  CHECK(Query(path, "PRAGMA user_version") == std::vector<std::string>{"1"});
  CHECK(Query(path, "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
  // Every table of the schema was looked at.
  const auto names = Query(path, "SELECT name FROM sqlite_schema WHERE type='table'");
  CHECK(names.size() == tables.size() + 1);
  CHECK_FALSE(std::filesystem::exists(path + "-wal"));
}

TEST_CASE("a reader gives back what was written") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  WriteExample(path);
  auto reader = TraceReader::Open(path);
  REQUIRE(reader);
  const auto facts = (*reader)->ReadFacts();
  REQUIRE(facts);
  CHECK(facts->complete());
  CHECK(facts->op_count == 1);
  CHECK(facts->schemas.at(1).signature == "add(Tensor self) -> Tensor");
  CHECK(facts->schemas.at(1).traits == kPointwise);
  CHECK(facts->geometries.at(1).strides == "[3, 1]");
  CHECK(facts->geometries.at(1).storage_offset == 7);
  CHECK(facts->slots.at(1).item == -1);
  CHECK(facts->frames.at(1).line == 12);
  CHECK(facts->notes.at(0).text == "it's \"quoted\"");
  CHECK(facts->gaps.at(0).last_step == 9);

  const auto op = (*reader)->Op(1);
  REQUIRE(op);
  CHECK(op->phase == Phase::kBackward);
  CHECK(op->flags == (kThrew | kRecompute));
  const auto tensors = (*reader)->TensorsOf(*op);
  REQUIRE(tensors);
  REQUIRE(tensors->size() == 1);
  CHECK(tensors->at(0).state == TensorState::kTrusted);
  CHECK(tensors->at(0).fingerprint == std::numeric_limits<std::uint64_t>::max());
  CHECK(tensors->at(0).unordered == std::uint64_t{1} << 63U);
  const auto statistic = (*reader)->Statistic(1);
  REQUIRE(statistic);
  CHECK(statistic->minimum == -0.5);
  CHECK_FALSE(statistic->maximum.has_value());
  const auto rng = (*reader)->Rng(1);
  REQUIRE(rng);
  CHECK(rng->state_before == std::uint64_t{0xfedcba9876543210});
  CHECK((*reader)->Source(1)->text == "hello");
  CHECK((*reader)->SourceByPath("/code/huge.py")->text.empty());
  CHECK((*reader)->Node(1)->forward_op == 3);
  CHECK((*reader)->Verify());
}

TEST_CASE("rows in any number arrive in order") {
  const TempFolder folder;
  // Around the number that goes into one statement.
  for (const std::int64_t ops : {2, 31, 32, 33, 34, 64, 65, 1000}) {
    CAPTURE(ops);
    const std::string path = folder.File(std::to_string(ops));
    WriteExample(path, ops);
    const auto rows = Query(path, "SELECT id, op, fingerprint FROM tensor WHERE id > 1");
    REQUIRE(rows.size() == static_cast<std::size_t>(ops - 1));
    for (std::int64_t id = 2; id <= ops; ++id) {
      const std::string number = std::to_string(id);
      const std::string digest = id % 3 == 0 ? "NULL" : number + "000";
      CHECK(rows[static_cast<std::size_t>(id - 2)] == number + "|" + number + "|" + digest);
    }
  }
}

TEST_CASE("facts of a key are replaced") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  auto writer = TraceWriter::Create(path);
  REQUIRE(writer);
  Batch batch;
  batch.trace = {{"rank", "0"}, {"rank", "3"}};
  REQUIRE((*writer)->Append(batch));
  batch.trace = {{"rank", "5"}};
  REQUIRE((*writer)->Append(batch));
  REQUIRE((*writer)->Finish("disabled"));
  CHECK(Query(path, "SELECT value FROM trace WHERE key IN ('rank', 'status') ORDER BY key") ==
        std::vector<std::string>{"5", "disabled"});
}

TEST_CASE("a batch that fails leaves the committed ones as they were") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  auto writer = TraceWriter::Create(path);
  REQUIRE(writer);
  REQUIRE((*writer)->Append(ExampleBatch()));
  REQUIRE((*writer)->Commit());
  Batch twice = MoreOps(2, 40);
  twice.tensors.push_back(twice.tensors.back());
  const auto appended = (*writer)->Append(twice);
  REQUIRE_FALSE(appended);
  CHECK(appended.error().message.find(path) != std::string::npos);
  REQUIRE((*writer)->Append(MoreOps(2, 3)));
  REQUIRE((*writer)->Finish());
  CHECK(Query(path, "SELECT count(*) FROM op") == std::vector<std::string>{"4"});
  CHECK(Query(path, "SELECT value FROM trace WHERE key='ops'") == std::vector<std::string>{"4"});
}

TEST_CASE("single rows that are not there are not found") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  WriteExample(path);
  const auto opened = TraceReader::Open(path);
  REQUIRE(opened);
  const TraceReader& reader = **opened;
  CHECK(reader.Op(2).error().code == ErrorCode::kNotFound);
  CHECK(reader.Op(-1).error().code == ErrorCode::kNotFound);
  CHECK(reader.OpIdAt(1).error().code == ErrorCode::kNotFound);
  CHECK(reader.Node(2).error().code == ErrorCode::kNotFound);
  CHECK(reader.Statistic(2).error().code == ErrorCode::kNotFound);
  CHECK(reader.Rng(2).error().code == ErrorCode::kNotFound);
  CHECK(reader.Source(3).error().code == ErrorCode::kNotFound);
  CHECK(reader.SourceByPath("nosuch.py").error().code == ErrorCode::kNotFound);
}

}  // namespace
}  // namespace opguard::store
