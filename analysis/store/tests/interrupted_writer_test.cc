// Writers that are killed, or whose disk is full: what was committed stays readable.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "example_trace.h"
#include "opguard/store/trace_reader.h"
#include "opguard/store/trace_writer.h"

namespace opguard::store {
namespace {

namespace fs = std::filesystem;
using testing::ExampleBatch;
using testing::MoreOps;
using testing::TempFolder;

// Runs `body` in a child process and gives how it ended (waitpid's status).
template <typename Body>
int InChild(const Body& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    body();
    _exit(99);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

struct Content {
  bool complete;
  std::int64_t ops, tensors;
};

Content ContentOf(const std::string& path) {
  const auto reader = TraceReader::Open(path);
  if (!reader) FAIL(reader.error().message);
  const auto facts = (*reader)->ReadFacts();
  REQUIRE(facts);
  Content content{facts->complete(), 0, 0};
  REQUIRE((*reader)->ScanOps([&](const OpRow&) { ++content.ops; }));
  REQUIRE((*reader)->ScanTensors([&](const TensorRow&) { ++content.tensors; }));
  CHECK((*reader)->Verify());
  return content;
}

// Commits 1 + 5000 ops, appends 500 more and kills itself.
int KillWriter(const std::string& path) {
  return InChild([&path] {
    auto writer = TraceWriter::Create(path);
    if (!writer || !(*writer)->Append(ExampleBatch()) || !(*writer)->Append(MoreOps(2, 5000)) ||
        !(*writer)->Commit() || !(*writer)->Append(MoreOps(5002, 500))) {
      return;
    }
    kill(getpid(), SIGKILL);
  });
}

TEST_CASE("a killed writer leaves its committed batches, marked incomplete") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  REQUIRE(WTERMSIG(KillWriter(path)) == SIGKILL);
  for (int round = 0; round < 2; ++round) {  // reading changes nothing
    const Content content = ContentOf(path);
    CHECK_FALSE(content.complete);
    CHECK(content.ops == 5001);
    CHECK(content.tensors == 5001);
  }
}

TEST_CASE("a killed writer's trace is readable in a folder that is not writable") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  REQUIRE(WTERMSIG(KillWriter(path)) == SIGKILL);
  fs::permissions(folder.path(), fs::perms(0555));
  constexpr uid_t kNobody = 65534;  // the superuser may write everywhere
  const int status = InChild([&path] {
    if (geteuid() == 0 && setuid(kNobody) != 0) return;
    const auto reader = TraceReader::Open(path);
    const auto facts = reader ? (*reader)->ReadFacts() : tl::unexpected<Error>(reader.error());
    _exit(facts && facts->op_count == 5001 ? 0 : 1);
  });
  fs::permissions(folder.path(), fs::perms::owner_all);
  CHECK(status == 0);
}

TEST_CASE("a writer that goes away without an end leaves its committed batches") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  {
    auto writer = TraceWriter::Create(path);
    REQUIRE(writer);
    REQUIRE((*writer)->Append(ExampleBatch()));
    REQUIRE((*writer)->Commit());
    REQUIRE((*writer)->Append(MoreOps(2, 10)));
  }
  const Content content = ContentOf(path);
  CHECK_FALSE(content.complete);
  CHECK(content.ops == 1);
}

TEST_CASE("a full disk is an error with a fix, and what was committed stays") {
  const TempFolder folder;
  const std::string path = folder.File("t.opguard");
  constexpr int kNoError = 1, kOtherError = 2, kAsWanted = 0;
  const int status = InChild([&path] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4U << 20U, 4U << 20U};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto writer = TraceWriter::Create(path);
    if (!writer || !(*writer)->Append(ExampleBatch()) || !(*writer)->Commit()) _exit(kOtherError);
    std::int64_t next = 2;
    for (int round = 0; round < 1000; ++round, next += 1000) {
      auto written = (*writer)->Append(MoreOps(next, 1000));
      if (written) written = (*writer)->Commit();
      if (written) continue;
      const bool as_wanted =
          written.error().code == ErrorCode::kIo && !written.error().message.empty();
      _exit(as_wanted && round > 2 ? kAsWanted : kOtherError);
    }
    _exit(kNoError);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == kAsWanted);
  const Content content = ContentOf(path);
  CHECK_FALSE(content.complete);
  CHECK(content.ops > 2000);
  CHECK(content.ops % 1000 == 1);
  CHECK(content.tensors == content.ops);
}

}  // namespace
}  // namespace opguard::store
