// What a question for the first difference costs, by ops a side: the first time (both traces from
// their files, aligned, judged, everything stored) and again in a fresh store.
// The same calls in the same order as the first_diff tool, up to rendering its answer.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "analysis/benchmarks/synthetic_pair.h"
#include "opguard/analysis/alignment.h"
#include "opguard/analysis/first_diff.h"
#include "opguard/analysis/pair.h"

namespace {

using namespace opguard;  // NOLINT: a benchmark's own file
using analysis::Pair;
using analysis::PairStore;
using analysis::benchmarks::SyntheticPair;
using Clock = std::chrono::steady_clock;

constexpr char kAnswerKey[] = "first_diff/-1//false";

template <typename T>
T Must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

double PeakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

const SyntheticPair& PairOf(std::int64_t ops) {
  static std::map<std::int64_t, std::unique_ptr<SyntheticPair>> pairs;
  auto& pair = pairs[ops];
  if (!pair) pair = std::make_unique<SyntheticPair>(ops);
  return *pair;
}

// Seconds of each part of an answer.
struct Times {
  double load = 0, align = 0, judge = 0, store = 0;
};

struct Files {
  std::string a, b;
};

Files FilesOf(const Pair& pair) {
  Files files;
  for (const analysis::RunInfo& run : Must(pair.Runs())) {
    std::vector<std::string> problems;
    const auto traces = Must(pair.Traces(run, &problems));
    (run.side == analysis::Side::kA ? files.a : files.b) = traces.at(0).path;
  }
  return files;
}

std::string Judge(Pair& pair, const Files& files, Times& times) {
  auto last = Clock::now();
  const auto lap = [&last] {
    const auto now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(last, now)).count();
  };
  const auto traces = Must(analysis::LoadPair(files.a, files.b));
  times.load += lap();
  analysis::Alignment alignment = analysis::Align(*traces);
  times.align += lap();
  const analysis::FirstDiff first = analysis::FindFirstDiff(*traces, alignment, {});
  times.judge += lap();
  if (!pair.LoadAlignment(0, files.a, files.b)) {
    Must(pair.SaveAlignment(0, files.a, files.b, alignment));
  }
  const std::string answer = std::string(analysis::VerdictName(first.verdict)) + " at op " +
                             std::to_string(first.op.seq_a) + "/" + std::to_string(first.op.seq_b);
  Must(pair.SaveAnswer(0, kAnswerKey, answer));
  times.store += lap();
  return answer;
}

std::string Ask(const std::string& home, const std::string& id, Times& times) {
  Pair pair = Must(PairStore(home).Open(id));
  const Files files = FilesOf(pair);
  if (auto stored = pair.LoadAnswer(0, kAnswerKey, files.a, files.b)) return *stored;
  return Judge(pair, files, times);
}

void Check(const SyntheticPair& pair, const std::string& answer) {
  const std::string op = std::to_string(pair.altered_op());
  const std::string expected = "origin at op " + op + "/" + op;
  if (answer != expected) throw std::runtime_error(answer + " instead of " + expected);
}

void ColdAnswers(benchmark::State& state, bool from_disk) {
  const SyntheticPair& pair = PairOf(state.range(0));
  Times times;
  for (auto _ : state) {
    state.PauseTiming();
    const std::string id = pair.NewPair();
    if (from_disk) pair.DropFromPageCache();
    state.ResumeTiming();
    Check(pair, Ask(pair.home(), id, times));
  }
  const auto per_answer = [&](double seconds) {
    return benchmark::Counter(seconds, benchmark::Counter::kAvgIterations);
  };
  state.counters["load_s"] = per_answer(times.load);
  state.counters["align_s"] = per_answer(times.align);
  state.counters["judge_s"] = per_answer(times.judge);
  state.counters["store_s"] = per_answer(times.store);
  state.counters["peak_MiB"] = PeakMebibytes();
}

// The files are in the page cache, as after recording them.
void Cold(benchmark::State& state) { ColdAnswers(state, false); }
void ColdFromDisk(benchmark::State& state) { ColdAnswers(state, true); }

void Stored(benchmark::State& state) {
  const SyntheticPair& pair = PairOf(state.range(0));
  const std::string id = pair.NewPair();
  Times times;
  Check(pair, Ask(pair.home(), id, times));
  const double asked_once = times.load;
  for (auto _ : state) Check(pair, Ask(pair.home(), id, times));
  if (times.load > asked_once) throw std::runtime_error("the answer was not stored");
}

// What the tools that take an op's id ask for.
void StoredAlignment(benchmark::State& state) {
  const SyntheticPair& synthetic = PairOf(state.range(0));
  const std::string id = synthetic.NewPair();
  Times times;
  Ask(synthetic.home(), id, times);
  for (auto _ : state) {
    const Pair pair = Must(PairStore(synthetic.home()).Open(id));
    const Files files = FilesOf(pair);
    benchmark::DoNotOptimize(Must(pair.LoadAlignment(0, files.a, files.b)).rows);
  }
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->UseRealTime();
}
void Once(benchmark::internal::Benchmark* benchmark) {
  Sizes(benchmark);
  benchmark->Iterations(1)->Repetitions(3);
}

// Small pairs first: peak memory never goes down.
BENCHMARK(Cold)->Apply(Once);
BENCHMARK(ColdFromDisk)->Apply(Once);
BENCHMARK(Stored)->Apply(Sizes)->Repetitions(3);
BENCHMARK(StoredAlignment)->Apply(Sizes);

}  // namespace

BENCHMARK_MAIN();
