#include "opguard/analysis/pair.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "analysis/testing/pair_files.h"

namespace opguard::analysis {
namespace {

namespace fs = std::filesystem;
using testing::TempFolder;
using testing::TraceBuilder;
using testing::WriteTrace;

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

RunInfo MakeRun(const Pair& pair, Side side, std::uint32_t repeat) {
  RunInfo run;
  run.side = side;
  run.repeat = repeat;
  run.directory = pair.directory() + (side == Side::kA ? "/a." : "/b.") + std::to_string(repeat);
  return run;
}

TraceBuilder Ops(int count, const std::string& rank, const std::string& role = "rank") {
  TraceBuilder trace;
  trace.Meta("rank", rank).Meta("role", role);
  for (int i = 0; i < count; ++i) trace.Op("aten::mm").Out(testing::Tensor("y"));
  return trace;
}

TEST_CASE("PairStore gives ids in order, keeps them, and lists the newest first") {
  const TempFolder folder;
  PairStore store(folder.File("home"));
  CHECK(store.List()->empty());
  CHECK_FALSE(fs::exists(folder.File("home")));
  CHECK(store.Create("first")->id() == "p1");
  CHECK(store.Create("second")->id() == "p2");
  CHECK(store.List() == std::vector<std::string>{"p2", "p1"});
  fs::remove_all(folder.File("home/pairs/p1"));
  CHECK(store.Create("")->id() == "p3");
  const auto pair = PairStore(folder.File("home")).Open("p2");
  REQUIRE(pair);
  CHECK(pair->directory() == folder.File("home/pairs/p2"));
  CHECK(pair->Attribute("label") == "second");
}

TEST_CASE("A pair's database is for its owner alone") {
  const TempFolder folder;
  REQUIRE(PairStore(folder.path()).Create(""));
  CHECK(fs::status(folder.File("pairs/p1/pair.db")).permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("PairStore::Create gives different ids to concurrent processes and threads") {
  const TempFolder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      PairStore store(folder.path());
      bool created = true;
      for (int k = 0; k < 5; ++k) created = created && store.Create("x").has_value();
      _exit(created ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(PairStore(folder.path()).List()->size() == 20);
}

TEST_CASE("PairStore::Open refuses unknown, foreign, damaged and newer pairs") {
  const TempFolder folder;
  PairStore store(folder.path());
  for (int i = 0; i < 7; ++i) REQUIRE(store.Create(""));
  for (const char* id : {"p9", "", "p0", "p01", "../p1", "p1/../p2", "q1", "p", "p1x"}) {
    CAPTURE(id);
    const auto opened = store.Open(id);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == ErrorCode::kNotFound);
    CHECK(opened.error().valid == std::vector<std::string>{"p7", "p6", "p5", "p4", "p3"});
  }
  const std::string database = folder.File("pairs/p1/pair.db");
  Write(database, std::string(8192, 'x'));
  CHECK(store.Open("p1").error().code == ErrorCode::kCorrupt);
  Write(database, "");
  CHECK(store.Open("p1").error().code == ErrorCode::kCorrupt);
  std::fstream newer(folder.File("pairs/p2/pair.db"), std::ios::in | std::ios::out);
  newer.seekp(63);  // the last byte of user_version in SQLite's header
  newer.put('\x02');
  newer.close();
  CHECK(store.Open("p2").error().code == ErrorCode::kUnsupportedVersion);
  fs::remove(folder.File("pairs/p3/pair.db"));
  CHECK(store.Open("p3").error().code == ErrorCode::kNotFound);
}

TEST_CASE("PairStore::Create reports a home that cannot be written") {
  const TempFolder folder;
  Write(folder.File("file"), "");
  PairStore store(folder.File("file/home"));
  CHECK(store.Create("").error().code == ErrorCode::kIo);
  CHECK(PairStore("/proc/opguard").Create("").error().code == ErrorCode::kIo);
}

TEST_CASE("PairStore::DefaultHome prefers OPGUARD_HOME") {
  unsetenv("OPGUARD_HOME");
  CHECK(PairStore::DefaultHome("/work") == "/work/.opguard");
  setenv("OPGUARD_HOME", "/data", 1);
  CHECK(PairStore::DefaultHome("/work") == "/data");
  unsetenv("OPGUARD_HOME");
}

TEST_CASE("Pair keeps attributes and runs between openings, also when its folder moves") {
  const TempFolder folder;
  PairStore store(folder.File("one"));
  Pair pair = *store.Create("x");
  CHECK(pair.Attribute("command") == "");
  const std::string text = "a\nb\t\"ü\" %";
  REQUIRE(pair.SetAttribute("command", text));
  REQUIRE(pair.SetAttribute("command", text));
  REQUIRE(pair.SaveRun(MakeRun(pair, Side::kB, 1)));
  RunInfo run = MakeRun(pair, Side::kA, 2);
  REQUIRE(pair.SaveRun(run));
  run.state = RunState::kTimedOut;
  run.signal = 15;
  run.started_unix_ms = 1'700'000'000'000;
  run.finished_unix_ms = run.started_unix_ms + 5;
  run.pid = 4711;
  REQUIRE(pair.SaveRun(run));
  RunInfo ended = MakeRun(pair, Side::kA, 1);
  ended.exit_code = 3;
  ended.state = RunState::kFailed;
  REQUIRE(pair.SaveRun(ended));
  fs::rename(folder.File("one"), folder.File("two"));
  const Pair moved = *PairStore(folder.File("two")).Open("p1");
  CHECK(moved.Attribute("command") == text);
  const auto runs = moved.Runs();
  REQUIRE(runs);
  REQUIRE(runs->size() == 3);
  CHECK((*runs)[0].exit_code == 3);
  CHECK((*runs)[0].state == RunState::kFailed);
  const RunInfo& second = (*runs)[1];
  CHECK(second.side == Side::kA);
  CHECK(second.repeat == 2);
  CHECK(second.state == RunState::kTimedOut);
  CHECK_FALSE(second.exit_code);
  CHECK(second.signal == 15);
  CHECK(second.started_unix_ms == run.started_unix_ms);
  CHECK(second.finished_unix_ms == run.finished_unix_ms);
  CHECK(second.pid == 4711);
  CHECK(second.directory == folder.File("two/pairs/p1/a.2"));
  CHECK((*runs)[2].side == Side::kB);
}

TEST_CASE("Pair::TryLock holds a pair until the lock or its process is gone") {
  const TempFolder folder;
  PairStore store(folder.path());
  Pair pair = *store.Create("");
  CHECK(pair.LockHolder() == 0);
  auto lock = pair.TryLock();
  REQUIRE(lock);
  CHECK(pair.LockHolder() == getpid());
  const auto second = store.Open("p1")->TryLock();
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::kInvalidArgument);
  CHECK(second.error().message.find(std::to_string(getpid())) != std::string::npos);
  lock->reset();
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto held = store.Open("p1")->TryLock();
    (void)!write(ready[1], held ? "y" : "n", 1);
    for (;;) pause();
  }
  char answer = 0;
  REQUIRE(read(ready[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  CHECK(pair.LockHolder() == child);
  CHECK_FALSE(pair.TryLock());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(pair.TryLock());
}

TEST_CASE("Pair::Traces groups files by rank with the main process first") {
  const TempFolder folder;
  PairStore store(folder.path());
  Pair pair = *store.Create("");
  const RunInfo run = MakeRun(pair, Side::kA, 1);
  std::vector<std::string> problems;
  CHECK(pair.Traces(run, &problems)->empty());
  fs::create_directories(run.directory);
  WriteTrace(Ops(2, "0"), run.directory + "/rank0-10.opguard");
  WriteTrace(Ops(5, "0"), run.directory + "/rank0-11.opguard");
  WriteTrace(Ops(9, "0", "auxiliary"), run.directory + "/rank0-12.opguard");
  WriteTrace(Ops(1, "1"), run.directory + "/rank1-13.opguard", "incomplete");
  WriteTrace(Ops(4, "2", "auxiliary"), run.directory + "/rank2-14.opguard");
  Write(run.directory + "/rank3-15.opguard", "not a trace, certainly");
  Write(run.directory + "/stdout.log", "text");
  for (int reading = 0; reading < 2; ++reading) {
    problems.clear();
    const auto files = pair.Traces(run, &problems);
    REQUIRE(files);
    REQUIRE(files->size() == 5);
    const auto check = [&](std::size_t i, const char* name, std::uint32_t rank,
                           std::uint32_t ordinal, std::int64_t ops) {
      CAPTURE(i);
      CHECK((*files)[i].path == run.directory + "/" + name);
      CHECK((*files)[i].rank == rank);
      CHECK((*files)[i].ordinal == ordinal);
      CHECK((*files)[i].ops == ops);
      CHECK((*files)[i].tensors == ops);
      CHECK((*files)[i].bytes > 0);
    };
    check(0, "rank0-11.opguard", 0, 0, 5);
    check(1, "rank0-10.opguard", 0, 1, 2);
    check(2, "rank0-12.opguard", 0, 2, 9);
    check(3, "rank1-13.opguard", 1, 0, 1);
    check(4, "rank2-14.opguard", 2, 1, 4);
    CHECK((*files)[2].auxiliary);
    CHECK((*files)[0].complete);
    CHECK_FALSE((*files)[3].complete);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].find("rank3-15.opguard") != std::string::npos);
  }
}

TEST_CASE("Pair::Traces notices a file that was replaced") {
  const TempFolder folder;
  PairStore store(folder.path());
  Pair pair = *store.Create("");
  const RunInfo run = MakeRun(pair, Side::kA, 1);
  fs::create_directories(run.directory);
  const std::string path = run.directory + "/rank0-10.opguard";
  WriteTrace(Ops(2, "0"), path);
  CHECK(pair.Traces(run, nullptr)->at(0).ops == 2);
  fs::remove(path);
  WriteTrace(Ops(3, "0"), path);
  CHECK(pair.Traces(run, nullptr)->at(0).ops == 3);
}

class StoredAlignment {
 public:
  StoredAlignment() : store_(folder_.path()), pair_(*store_.Create("")) {
    Write(a, "trace of a");
    Write(b, "trace of b");
    alignment.runs = {{0, 0, 0, 10, RowState::kEqual},
                      {10, 10, -1, 2, RowState::kOnlyA},
                      {12, -1, 10, 1, RowState::kOnlyB},
                      {13, 12, 11, 5, RowState::kReceiver}};
    alignment.rows = 18;
    REQUIRE(pair_.SaveAlignment(3, a, b, alignment));
  }
  Pair& pair() { return pair_; }

 private:
  TempFolder folder_;
  PairStore store_;
  Pair pair_;

 public:
  std::string a = folder_.File("a"), b = folder_.File("b");
  Alignment alignment;
};

TEST_CASE("Pair stores an alignment as runs and gives back the same") {
  StoredAlignment stored;
  const auto loaded = stored.pair().LoadAlignment(3, stored.a, stored.b);
  REQUIRE(loaded);
  CHECK(loaded->rows == 18);
  REQUIRE(loaded->runs.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(loaded->runs[i].index == stored.alignment.runs[i].index);
    CHECK(loaded->runs[i].a == stored.alignment.runs[i].a);
    CHECK(loaded->runs[i].b == stored.alignment.runs[i].b);
    CHECK(loaded->runs[i].count == stored.alignment.runs[i].count);
    CHECK(loaded->runs[i].state == stored.alignment.runs[i].state);
  }
  CHECK(loaded->match_a.size() == 17);
  CHECK(loaded->match_a[9] == 9);
  CHECK(loaded->match_a[10] == -1);
  CHECK(loaded->match_b[11] == 12);
}

TEST_CASE("Pair answers kNotFound for another rank, other traces and changed traces") {
  StoredAlignment stored;
  const auto code = [&](std::uint32_t rank, const std::string& a, const std::string& b) {
    const auto loaded = stored.pair().LoadAlignment(rank, a, b);
    return loaded ? ErrorCode::kInternal : loaded.error().code;
  };
  CHECK(code(2, stored.a, stored.b) == ErrorCode::kNotFound);
  CHECK(code(3, stored.b, stored.a) == ErrorCode::kNotFound);
  CHECK(code(3, stored.a, "/nonexistent") == ErrorCode::kNotFound);
  CHECK(code(3, stored.a, stored.b) == ErrorCode::kInternal);
  Write(stored.a + "-wal", "more");
  CHECK(code(3, stored.a, stored.b) == ErrorCode::kNotFound);
  fs::remove(stored.a + "-wal");
  CHECK(code(3, stored.a, stored.b) == ErrorCode::kInternal);
  Write(stored.b, "TRACE OF B");  // as many bytes
  fs::last_write_time(stored.b, fs::last_write_time(stored.a) + std::chrono::seconds(5));
  CHECK(code(3, stored.a, stored.b) == ErrorCode::kNotFound);
}

TEST_CASE("Pair keeps answers beside the alignment that they came from") {
  StoredAlignment stored;
  Pair& pair = stored.pair();
  CHECK(pair.SaveAnswer(2, "first_diff", "x").error().code == ErrorCode::kNotFound);
  REQUIRE(pair.SaveAnswer(3, "first_diff", "one"));
  REQUIRE(pair.SaveAnswer(3, "first_diff", "two"));
  CHECK(pair.LoadAnswer(3, "first_diff", stored.a, stored.b) == "two");
  CHECK(pair.LoadAnswer(3, "other", stored.a, stored.b).error().code == ErrorCode::kNotFound);
  REQUIRE(pair.SaveAlignment(3, stored.a, stored.b, stored.alignment));
  CHECK(pair.LoadAnswer(3, "first_diff", stored.a, stored.b).error().code == ErrorCode::kNotFound);
  REQUIRE(pair.SaveAnswer(3, "first_diff", "three"));
  Write(stored.a, "another trace");
  CHECK(pair.LoadAnswer(3, "first_diff", stored.a, stored.b).error().code == ErrorCode::kNotFound);
}

TEST_CASE("Processes may write one pair at the same time") {
  const TempFolder folder;
  PairStore store(folder.path());
  REQUIRE(store.Create(""));
  std::vector<std::thread> threads;
  std::vector<int> failures(4);
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Pair pair = *store.Open("p1");
      for (int i = 0; i < 20; ++i) {
        RunInfo run = MakeRun(pair, Side::kA, static_cast<std::uint32_t>(t * 100) + 1);
        run.pid = i;
        failures[t] += pair.SaveRun(run) ? 0 : 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(failures == std::vector<int>(4));
  CHECK(store.Open("p1")->Runs()->size() == 4);
}

TEST_CASE("RunStateName names every state") {
  std::set<std::string> names;
  for (int i = 0; i < 6; ++i) names.insert(RunStateName(static_cast<RunState>(i)));
  CHECK(names.size() == 6);
  CHECK(std::string(RunStateName(RunState::kTimedOut)) == "timed_out");
}

}  // namespace
}  // namespace opguard::analysis
