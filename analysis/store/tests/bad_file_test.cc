// Files that are no trace, or were one: each gives an error with its fix, none crashes the reader.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "example_trace.h"
#include "opguard/store/trace_reader.h"
#include "opguard/store/trace_writer.h"

namespace opguard::store {
namespace {

namespace fs = std::filesystem;
using testing::Alter;
using testing::TempFolder;
using testing::WriteExample;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Everything that the tools read of a trace, or the first error.
Result<void> ReadAll(const std::string& path) {
  OPGUARD_ASSIGN(const auto reader, TraceReader::Open(path));
  OPGUARD_TRY(reader->ReadFacts());
  std::vector<OpRow> ops;
  OPGUARD_TRY(reader->ScanOps([&ops](const OpRow& op) { ops.push_back(op); }));
  OPGUARD_TRY(reader->ScanTensors([](const TensorRow&) {}));
  OPGUARD_TRY(reader->ScanNodes([](const NodeRow&) {}));
  OPGUARD_TRY(reader->ScanStorages([](const StorageRow&) {}));
  OPGUARD_TRY(reader->Statistics());
  OPGUARD_TRY(reader->Rngs());
  for (const OpRow& op : ops) {
    OPGUARD_TRY(reader->TensorsOf(op));
  }
  OPGUARD_TRY(reader->Source(1));
  return {};
}

Error ErrorOf(const std::string& path) {
  const auto read = ReadAll(path);
  REQUIRE_FALSE(read);
  CAPTURE(read.error().message);
  CHECK(read.error().message.find(path) != std::string::npos);
  CHECK_FALSE(read.error().fix.empty());
  return read.error();
}

TEST_CASE("what is no trace") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  SUBCASE("missing") { CHECK(ErrorOf(path).code == ErrorCode::kNotFound); }
  SUBCASE("in a missing folder") { CHECK(ErrorOf(path + "/no/such").code == ErrorCode::kNotFound); }
  SUBCASE("a folder") { CHECK(ErrorOf(folder.path()).code == ErrorCode::kNotATrace); }
  SUBCASE("a pipe, which must not be waited for") {
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    CHECK(ErrorOf(path).code == ErrorCode::kNotATrace);
  }
  SUBCASE("empty") {
    WriteFile(path, "");
    CHECK(ErrorOf(path).code == ErrorCode::kCorrupt);
  }
  SUBCASE("text") {
    WriteFile(path, std::string(5000, 'x'));
    CHECK(ErrorOf(path).code == ErrorCode::kNotATrace);
  }
  SUBCASE("somebody's database") {
    WriteExample(path);
    Alter(path, "PRAGMA application_id = 7");
    CHECK(ErrorOf(path).code == ErrorCode::kNotATrace);
  }
}

TEST_CASE("a trace of another format says which") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  WriteExample(path);
  Alter(path, "PRAGMA user_version = 2");
  const Error error = ErrorOf(path);
  CHECK(error.code == ErrorCode::kUnsupportedVersion);
  CHECK(error.message.find("format 2") != std::string::npos);
  CHECK(error.fix.find("newer") != std::string::npos);
}

TEST_CASE("a schema that is not ours is refused before anything of it runs") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  WriteExample(path);
  SUBCASE("a view in the place of a table") {
    Alter(path,
          "DROP TABLE rng; CREATE VIEW rng AS SELECT id AS op, 1 AS generator, 1 AS seed, "
          "1 AS state_before, 1 AS state_after FROM op");
  }
  SUBCASE("a table with a generated column") {
    Alter(path,
          "DROP TABLE lane; CREATE TABLE lane(id INTEGER PRIMARY KEY, "
          "name TEXT AS (hex(zeroblob(100000000))))");
  }
  SUBCASE("a missing table") { Alter(path, "DROP TABLE statistic"); }
  CHECK(ErrorOf(path).code == ErrorCode::kCorrupt);
}

TEST_CASE("ids that lead nowhere are an error") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  WriteExample(path, 40);
  for (const char* change :
       {"UPDATE tensor SET geometry = 99 WHERE id = 20", "UPDATE tensor SET slot = -1 WHERE id = 3",
        "UPDATE op SET schema = 9223372036854775807 WHERE id = 5",
        "UPDATE op SET parent = 39 WHERE id = 5", "UPDATE op SET tensors = -5 WHERE id = 7",
        "UPDATE stack SET parent = 1", "UPDATE stack SET frame = 1000",
        "UPDATE module SET id = 9000000000000", "UPDATE source SET bytes = 4000000000000",
        "UPDATE source SET text_zstd = x'00'"}) {
    CAPTURE(change);
    const std::string damaged = folder.File("damaged.opguard");
    fs::copy_file(path, damaged, fs::copy_options::overwrite_existing);
    Alter(damaged, change);
    CHECK(ErrorOf(damaged).code == ErrorCode::kCorrupt);
  }
}

TEST_CASE("a truncated trace is an error, at whatever length") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard"), cut = folder.File("cut.opguard");
  WriteExample(path, 2000);
  const std::string bytes = ReadFile(path);
  for (const std::size_t size : {std::size_t{1}, std::size_t{15}, std::size_t{100},
                                 std::size_t{16384}, bytes.size() / 2, bytes.size() - 16384}) {
    CAPTURE(size);
    WriteFile(cut, bytes.substr(0, size));
    const ErrorCode code = ErrorOf(cut).code;
    CHECK((code == ErrorCode::kCorrupt || code == ErrorCode::kNotATrace));
  }
}

TEST_CASE("flipped bytes give an answer or an error, never a crash") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard"), flipped = folder.File("flipped.opguard");
  WriteExample(path, 300);
  const std::string bytes = ReadFile(path);
  std::mt19937 random(20261206);
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    std::string damaged = bytes;
    // Half of the rounds hit the first page, which holds the header and the schema.
    const std::size_t range = round % 2 == 0 ? damaged.size() : 4096;
    for (int flips = 1 + round % 8; flips > 0; --flips) {
      damaged[random() % range] = static_cast<char>(random());
    }
    WriteFile(flipped, damaged);
    const auto read = ReadAll(flipped);
    if (!read) {
      CHECK_FALSE(read.error().message.empty());
      CHECK(read.error().code != ErrorCode::kInternal);
    }
  }
}

TEST_CASE("a trace that may not be written over or created says so") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  WriteExample(path);
  const std::string before = ReadFile(path);
  const auto again = TraceWriter::Create(path);
  REQUIRE_FALSE(again);
  CHECK(again.error().code == ErrorCode::kIo);
  CHECK(again.error().message.find(path) != std::string::npos);
  CHECK(ReadFile(path) == before);
  const auto nowhere = TraceWriter::Create(folder.File("no/such/t.opguard"));
  REQUIRE_FALSE(nowhere);
  CHECK_FALSE(nowhere.error().fix.empty());
}

TEST_CASE("a reader's work has a limit") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  WriteExample(path, 20000);
  auto reader = TraceReader::Open(path);
  REQUIRE(reader);
  (*reader)->SetWorkLimit(10);
  const auto scanned = (*reader)->ScanTensors([](const TensorRow&) {});
  REQUIRE_FALSE(scanned);
  CHECK(scanned.error().code == ErrorCode::kTimeout);
}

}  // namespace
}  // namespace opguard::store
