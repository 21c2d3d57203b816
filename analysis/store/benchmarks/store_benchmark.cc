// Sustained rates of the trace store: from rows in memory to committed rows, and back.
//   store_benchmark [--benchmark_repetitions=5]
// The trace goes to TMPDIR. The mix, per op: 4 tensor rows, 1 statistic, and for some ops a new
// storage or an autograd node; slots, geometries, stacks and arguments are shared by many ops.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "opguard/store/sqlite.h"
#include "opguard/store/trace_reader.h"
#include "opguard/store/trace_writer.h"

namespace {

namespace store = opguard::store;
using Clock = std::chrono::steady_clock;

// As the writer of the capture library: what one round takes, and when it commits.
constexpr std::int64_t kRowsARound = 1 << 16;
constexpr auto kCommitEvery = std::chrono::milliseconds(500);

constexpr std::int64_t kTensorsAnOp = 4, kSchemas = 120, kArguments = 400, kModules = 300,
                       kStacks = 2000, kSlots = 24, kGeometries = 150, kOpsAStep = 6000;

template <typename T>
T Checked(opguard::Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(2);
}
void Check(const opguard::Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(2);
}

std::uint64_t Mix(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15ULL;
  value ^= value >> 32U;
  value *= 0xd6e8feb86659fd93ULL;
  return value ^ (value >> 29U);
}

// Gives the ops of an endless training in batches.
class Training {
 public:
  // Two lanes: the backward ops of a round come after its forward ops although their ids do not.
  explicit Training(bool two_lanes) : two_lanes_(two_lanes) {}

  void Fill(store::Batch& batch) {
    batch.clear();
    if (op_ == 0) FillShared(batch);
    std::int64_t rows = 0;
    while (rows < kRowsARound) rows += AddOp(batch);
    if (!two_lanes_) return;
    const auto in_main = [](const store::OpRow& op) { return op.lane == 1; };
    std::stable_partition(batch.ops.begin(), batch.ops.end(), in_main);
    std::stable_partition(batch.tensors.begin(), batch.tensors.end(),
                          [](const store::TensorRow& row) { return LaneOf(row.op) == 1; });
    std::stable_partition(batch.statistics.begin(), batch.statistics.end(),
                          [](const store::StatisticRow& row) {
                            return LaneOf((row.tensor - 1) / kTensorsAnOp + 1) == 1;
                          });
  }
  std::int64_t tensors() const { return op_ * kTensorsAnOp; }

 private:
  static std::int64_t LaneOf(std::int64_t op) { return op % kOpsAStep < kOpsAStep / 3 ? 1 : 2; }

  static void FillShared(store::Batch& batch) {
    batch.lanes = {{1, "main"}, {2, "autograd.0"}};
    for (std::int64_t id = 1; id <= kSchemas; ++id) {
      const std::string name = "aten::operator_" + std::to_string(id);
      batch.schemas.push_back({id, name, "", name + "(Tensor self, Tensor other) -> Tensor", 0});
    }
    for (std::int64_t id = 1; id <= kArguments; ++id) {
      batch.arguments.push_back({id, "alpha=1\ndim=[" + std::to_string(id) + ", 2]"});
    }
    for (std::int64_t id = 1; id <= kModules; ++id) {
      batch.modules.push_back({id, "model.layers." + std::to_string(id), "Linear"});
    }
    for (std::int64_t id = 1; id <= kStacks; ++id) {
      batch.frames.push_back({id, "/home/someone/project/train.py", id, "forward", 0});
      batch.stacks.push_back({id, id / 2, id});
    }
    for (std::int64_t id = 1; id <= kSlots; ++id) {
      batch.slots.push_back({id, "in", static_cast<std::int32_t>(id), -1});
    }
    for (std::int64_t id = 1; id <= kGeometries; ++id) {
      batch.geometries.push_back(
          {id, "float32", "cuda:0", "[8, " + std::to_string(id) + "]", "[1, 8]", 0, "strided"});
    }
  }

  std::int64_t AddOp(store::Batch& batch) {
    const std::int64_t op = ++op_, first_tensor = (op - 1) * kTensorsAnOp + 1;
    std::int64_t rows = 2 + kTensorsAnOp;
    if (op % kOpsAStep == 1) batch.steps.push_back({op / kOpsAStep + 1, op});
    const std::uint64_t random = Mix(static_cast<std::uint64_t>(op % kOpsAStep));
    const auto pick = [random](unsigned shift, std::int64_t count) {
      return 1 + static_cast<std::int64_t>((random >> shift) % static_cast<std::uint64_t>(count));
    };
    if (op % 3 == 0) {
      batch.nodes.push_back({++node_, "NativeLayerNormBackward0", op});
      ++rows;
    }
    if (op % 4 != 0) {
      batch.storages.push_back({++storage_, 4096 * pick(7, 4000), op, 0});
      ++rows;
    }
    batch.ops.push_back({op, two_lanes_ ? LaneOf(op) : 1, store::Phase::kForward, pick(0, kSchemas),
                         pick(8, kArguments), pick(16, kModules), pick(24, kStacks),
                         op % 3 == 1 ? node_ : 0, 0, 0, first_tensor, kTensorsAnOp, 0});
    for (std::int64_t i = 0; i < kTensorsAnOp; ++i) {
      const std::int64_t id = first_tensor + i;
      const std::uint64_t digest = Mix(static_cast<std::uint64_t>(id));
      const std::int64_t storage =
          std::max<std::int64_t>(1, storage_ - (i == 3 ? 0 : pick(32, 3000)));
      batch.tensors.push_back({id, op, 1 + i, pick(static_cast<unsigned>(i) * 8U, kGeometries),
                               storage, store::TensorState::kFingerprinted, true, digest,
                               Mix(digest)});
    }
    const double scale = 1e-6 * static_cast<double>(random >> 40U);
    batch.statistics.push_back(
        {first_tensor + kTensorsAnOp - 1, 0, 0, pick(4, 2) - 1, -scale, scale * 1.1});
    return rows;
  }

  bool two_lanes_;
  std::int64_t op_ = 0, node_ = 0, storage_ = 0;
};

class TemporaryFile {
 public:
  TemporaryFile() {
    std::string folder = (std::filesystem::temp_directory_path() / "store-bench-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) std::exit(2);
    folder_ = folder;
  }
  ~TemporaryFile() { std::filesystem::remove_all(folder_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return folder_ / "rank0.opguard"; }

 private:
  std::filesystem::path folder_;
};

// Of the pages of table `tensor` (it has no index but its row id), and of the whole file.
void CountBytes(const std::string& path, std::int64_t tensors, benchmark::UserCounters& counters) {
  const auto database = Checked(store::sqlite::Database::Open(path, store::sqlite::Access::kRead));
  auto pages = Checked(database.Prepare("SELECT sum(pgsize) FROM dbstat WHERE name='tensor'"));
  if (!Checked(pages.Step())) std::exit(2);
  counters["bytes_a_record"] = static_cast<double>(pages.Int(0)) / static_cast<double>(tensors);
  counters["file_bytes_a_record"] =
      static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(tensors);
}

// An iteration is one round; gathering its rows is the training's cost and is not timed, the last
// commit and the folding of the log into the file are.
void Write(benchmark::State& state, bool two_lanes) {
  const TemporaryFile file;
  auto writer = Checked(store::TraceWriter::Create(file.path()));
  Training training(two_lanes);
  store::Batch batch;
  double seconds = 0;
  auto since_commit = Clock::duration::zero();
  const auto timed = [&](const auto& work) {
    const auto start = Clock::now();
    work();
    const auto spent = Clock::now() - start;
    since_commit += spent;
    const double spent_seconds = std::chrono::duration<double>(spent).count();
    seconds += spent_seconds;
    return spent_seconds;
  };
  for (auto _ : state) {
    training.Fill(batch);
    state.SetIterationTime(timed([&] {
      Check(writer->Append(batch));
      if (since_commit < kCommitEvery) return;
      Check(writer->Commit());
      since_commit = Clock::duration::zero();
    }));
  }
  timed([&] { Check(writer->Finish()); });
  state.counters["records_a_second"] = static_cast<double>(training.tensors()) / seconds;
  CountBytes(file.path(), training.tensors(), state.counters);
}

// An iteration is one scan of all tensor rows.
void Scan(benchmark::State& state) {
  const TemporaryFile file;
  auto writer = Checked(store::TraceWriter::Create(file.path()));
  Training training(false);
  for (int round = 0; round < 40; ++round) {
    store::Batch batch;
    training.Fill(batch);
    Check(writer->Append(batch));
  }
  Check(writer->Finish());
  const auto reader = Checked(store::TraceReader::Open(file.path()));
  std::uint64_t digests = 0;
  std::int64_t rows = 0;
  for (auto _ : state) {
    Check(reader->ScanTensors([&](const store::TensorRow& tensor) {
      digests ^= tensor.fingerprint;
      ++rows;
    }));
  }
  benchmark::DoNotOptimize(digests);
  if (rows != static_cast<std::int64_t>(state.iterations()) * training.tensors()) std::exit(2);
  state.counters["records_a_second"] =
      benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsRate);
}

}  // namespace

// 100 rounds are 4 million tensor records.
BENCHMARK_CAPTURE(Write, one_lane, false)->UseManualTime()->Iterations(100);
BENCHMARK_CAPTURE(Write, two_lanes, true)->UseManualTime()->Iterations(100);
BENCHMARK(Scan)->Iterations(5);
BENCHMARK_MAIN();
