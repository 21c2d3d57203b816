#include "example_trace.h"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <limits>

#include "opguard/store/trace_writer.h"

namespace opguard::store::testing {
namespace {

struct Connection {
  explicit Connection(const std::string& path) {
    REQUIRE(sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK);
  }
  ~Connection() { sqlite3_close(handle); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  sqlite3* handle = nullptr;
};

}  // namespace

TempFolder::TempFolder() {
  path_ = (std::filesystem::temp_directory_path() / "opguard-store-XXXXXX").string();
  REQUIRE(mkdtemp(path_.data()) != nullptr);
}

TempFolder::~TempFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

Batch ExampleBatch() {
  Batch batch;
  batch.lanes = {{1, "main"}};
  batch.schemas = {{1, "aten::add", "Tensor", "add(Tensor self) -> Tensor", kPointwise}};
  batch.arguments = {{1, "alpha=1"}};
  batch.insides = {{1, "checkpoint"}};
  batch.slots = {{1, "out", 0, -1}};
  batch.geometries = {{1, "float32", "cpu", "[2, 3]", "[3, 1]", 7, "strided"}};
  batch.modules = {{1, "model.fc", "Linear"}};
  batch.sources = {{1, "/code/train.py", "abc", 5, "hello"}, {2, "/code/huge.py", "def", 9, ""}};
  batch.frames = {{1, "/code/train.py", 12, "step", 2}};
  batch.stacks = {{1, 0, 1}};
  batch.steps = {{1, 1}};
  batch.nodes = {{1, "AddBackward0", 3}};
  batch.storages = {{1, 24, 5, 6}};
  batch.ops = {{1, 1, Phase::kBackward, 1, 1, 1, 1, 1, 1, 0, 1, 1, kThrew | kRecompute}};
  batch.tensors = {{1, 1, 1, 1, 1, TensorState::kTrusted, true,
                    std::numeric_limits<std::uint64_t>::max(), std::uint64_t{1} << 63U}};
  batch.statistics = {{1, 2, 3, 4, -0.5, std::nullopt}};
  batch.rngs = {{1, "cpu", 42, std::uint64_t{0xfedcba9876543210}, 8}};
  batch.gaps = {{1, 4, 9, "not asked for"}};
  batch.notes = {{1, 1, "outside_storage", "it's \"quoted\""}};
  batch.trace = {{"rank", "0"}};
  batch.environment = {{"torch", "2.13.0"}};
  return batch;
}

Batch MoreOps(std::int64_t first, std::int64_t count) {
  Batch batch;
  for (std::int64_t id = first; id < first + count; ++id) {
    batch.ops.push_back({id, 1, Phase::kForward, 1, 1, 1, 1, 1, 1, 0, id, 1, 0});
    batch.tensors.push_back({id, id, 1, 1, 1, TensorState::kFingerprinted, id % 3 != 0,
                             static_cast<std::uint64_t>(id) * 1000, 1});
  }
  return batch;
}

void WriteExample(const std::string& path, std::int64_t ops) {
  auto writer = TraceWriter::Create(path);
  REQUIRE(writer);
  REQUIRE((*writer)->Append(ExampleBatch()));
  REQUIRE((*writer)->Append(MoreOps(2, ops - 1)));
  REQUIRE((*writer)->Finish());
}

std::vector<std::string> Query(const std::string& path, const std::string& sql) {
  const Connection connection(path);
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(connection.handle, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  std::vector<std::string> rows;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    std::string& row = rows.emplace_back();
    for (int column = 0; column < sqlite3_column_count(statement); ++column) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      row += (column == 0 ? "" : "|") + std::string(text == nullptr ? "NULL" : text);
    }
  }
  REQUIRE(sqlite3_finalize(statement) == SQLITE_OK);
  return rows;
}

void Alter(const std::string& path, const std::string& sql) {
  const Connection connection(path);
  REQUIRE(sqlite3_exec(connection.handle, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
}

}  // namespace opguard::store::testing
