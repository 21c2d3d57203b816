// Loads and aligns a synthetic pair and prints seconds and peak memory:
//   align_benchmark FOLDER [STEPS [EDIT]]
// FOLDER keeps the traces between calls, so that a second call measures without writing them
// (remove them after changing the program). A step has 6,452 ops
// and 25,520 tensors. EDIT: `value` (one op gives
// another result early on, the default), `insert` (one op is added in every layer), `none`.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "analysis/testing/program.h"
#include "opguard/analysis/alignment.h"
#include "opguard/store/trace_writer.h"

namespace {

using namespace opguard;  // NOLINT: a benchmark's own file
using analysis::testing::Program;
using analysis::testing::Statement;
using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double PeakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// A program of `steps` equal steps on the data of their own number, about four tensors an op.
Program MakeProgram(std::int64_t steps) {
  Program program =
      analysis::testing::MakeTraining({.steps = steps, .layers = 48, .micro_batches = 2});
  for (Statement& statement : program) {
    if (statement.op.empty() || statement.draws) continue;
    while (statement.reads.size() < 3) statement.reads.push_back("constant");
  }
  return program;
}

void Apply(const std::string& edit, Program& program) {
  if (edit == "value") program[program.size() / 50].perturbation = 1;
  if (edit != "insert") return;
  Program edited;
  for (Statement& statement : program) {
    const bool is_gelu = statement.op == "aten::gelu";
    edited.push_back(std::move(statement));
    if (!is_gelu) continue;
    Statement added = edited.back();
    added.op = "aten::clamp";
    added.number = 0;
    edited.push_back(added);
  }
  program = std::move(edited);
}

void Write(const Program& program, const std::string& path) {
  auto writer = store::TraceWriter::Create(path);
  if (!writer) {
    std::fprintf(stderr, "%s\n", writer.error().message.c_str());
    std::exit(2);
  }
  analysis::testing::TraceBuilder trace;
  const auto flush = [&] {
    if (!(*writer)->Append(trace.Take()) || !(*writer)->Commit()) std::exit(2);
  };
  analysis::testing::Run(program, trace, flush);
  flush();
  if (!(*writer)->Finish()) std::exit(2);
}

int Measure(const std::string& path_a, const std::string& path_b) {
  const auto start = Clock::now();
  auto loaded = analysis::LoadPair(path_a, path_b);
  if (!loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
    return 2;
  }
  const analysis::TracePair& pair = **loaded;
  const double load = SecondsSince(start), load_peak = PeakMebibytes();
  const auto align_start = Clock::now();
  const analysis::Alignment alignment = analysis::Align(pair);
  const double align = SecondsSince(align_start);
  std::size_t matched = 0;
  for (const std::int64_t match : alignment.match_a) matched += match >= 0;
  std::printf("ops %zu + %zu, tensors %zu + %zu\n", pair.a.ops(), pair.b.ops(), pair.a.tensors(),
              pair.b.tensors());
  std::printf("load %.2f s, align %.2f s, peak %.0f MiB after load, %.0f MiB after align\n", load,
              align, load_peak, PeakMebibytes());
  std::printf("matched %zu, runs %zu\n", matched, alignment.runs.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: align_benchmark FOLDER [STEPS [value|insert|none]]\n");
    return 2;
  }
  const std::int64_t steps = argc > 2 ? std::atoll(argv[2]) : 155;
  const std::string edit = argc > 3 ? argv[3] : "value";
  const std::string stem = std::string(argv[1]).append("/").append(std::to_string(steps));
  const std::string path_a = stem + "-a.opguard", path_b = stem + "-" + edit + ".opguard";
  {
    Program program = MakeProgram(steps);
    if (!std::filesystem::exists(path_a)) Write(program, path_a);
    Apply(edit, program);
    if (!std::filesystem::exists(path_b)) Write(program, path_b);
  }
  return Measure(path_a, path_b);
}
