#include "analysis/benchmarks/synthetic_pair.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/testing/program.h"
#include "opguard/store/trace_writer.h"

namespace opguard::analysis::benchmarks {
namespace {

using testing::Program;
using testing::Statement;

constexpr char kTraceName[] = "/rank0-1.opguard";

template <typename T>
T Must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

Program MakeSteps(std::int64_t steps) {
  return testing::MakeTraining({.steps = steps, .layers = 48, .micro_batches = 2});
}

bool IsOp(const Statement& statement) { return !statement.op.empty(); }

std::int64_t OpsOf(const Program& program) {
  return std::count_if(program.begin(), program.end(), IsOp);
}

// The matrix product to alter: the first one of the step that nine tenths of `ops` lie before.
std::int64_t LateOp(std::int64_t ops) {
  const Program step = MakeSteps(1);
  const auto product = std::find_if(step.begin(), step.end(), [](const Statement& statement) {
    return statement.op == "aten::linear";
  });
  const std::int64_t ops_of_step = OpsOf(step);
  return ops / 10 * 9 / ops_of_step * ops_of_step + OpsOf(Program(step.begin(), product)) + 1;
}

// Steps cut after `ops` ops; every op reads three tensors and writes one.
Program MakeProgram(std::int64_t ops) {
  Program program = MakeSteps(ops / OpsOf(MakeSteps(1)) + 1);
  std::int64_t left = ops;
  std::size_t size = 0;
  for (; left > 0; ++size) {
    Statement& statement = program[size];
    if (!IsOp(statement)) continue;
    --left;
    while (statement.reads.size() < 3) statement.reads.push_back("constant");
  }
  program.resize(size);
  return program;
}

Statement& StatementOf(Program& program, std::int64_t op) {
  return *std::find_if(program.begin(), program.end(),
                       [&op](const Statement& statement) { return IsOp(statement) && --op == 0; });
}

// What a program's run does not write: generator states and statistics, as capture does.
class Extras {
 public:
  void AddTo(store::Batch& batch) {
    for (const store::SchemaRow& row : batch.schemas) {
      if ((row.traits & store::kDraws) != 0) drawing_schema_ = row.id;
    }
    for (const store::SlotRow& row : batch.slots) {
      is_output_.resize(static_cast<std::size_t>(row.id) + 1);
      is_output_.back() = row.role != "in";
    }
    for (const store::OpRow& op : batch.ops) {
      if (op.schema != drawing_schema_) continue;
      batch.rngs.push_back({op.id, "cpu", 1234, state_, state_ + 1});
      ++state_;
    }
    for (const store::TensorRow& tensor : batch.tensors) {
      if (!is_output_[static_cast<std::size_t>(tensor.slot)]) continue;
      batch.statistics.push_back({tensor.id, 0, 0, 0, -1.25, 1.75});
    }
  }

 private:
  std::int64_t drawing_schema_ = 0;
  std::vector<bool> is_output_;  // by slot
  std::uint64_t state_ = 0;
};

void Write(const Program& program, const std::string& path) {
  const auto writer = Must(store::TraceWriter::Create(path));
  testing::TraceBuilder trace;
  Extras extras;
  const auto flush = [&] {
    store::Batch batch = trace.Take();
    extras.AddTo(batch);
    Must(writer->Append(batch));
    Must(writer->Commit());
  };
  testing::Run(program, trace, flush);
  flush();
  Must(writer->Finish());
}

template <typename Work>
void InChild(const Work& work) {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    try {
      work();
    } catch (const std::exception&) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) {
    throw std::runtime_error("cannot write a synthetic trace");
  }
}

}  // namespace

SyntheticPair::SyntheticPair(std::int64_t ops) : altered_op_(LateOp(ops)) {
  for (const Side side : {Side::kA, Side::kB}) {
    std::filesystem::create_directory(RunFolder(side));
    InChild([&] {
      Program program = MakeProgram(ops);
      if (side == Side::kB) StatementOf(program, altered_op_).perturbation = 1;
      Write(program, RunFolder(side) + kTraceName);
    });
  }
}

std::string SyntheticPair::RunFolder(Side side) const {
  return folder_.File(side == Side::kA ? "a" : "b");
}

std::string SyntheticPair::NewPair() const {
  Pair pair = Must(PairStore(home()).Create("benchmark"));
  for (const Side side : {Side::kA, Side::kB}) {
    RunInfo run;
    run.side = side;
    run.state = RunState::kComplete;
    run.exit_code = 0;
    run.directory = RunFolder(side);
    Must(pair.SaveRun(run));
  }
  return pair.id();
}

void SyntheticPair::DropFromPageCache() const {
  for (const Side side : {Side::kA, Side::kB}) {
    const int file = open((RunFolder(side) + kTraceName).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw std::runtime_error("cannot open a synthetic trace");
    // Pages that were not written out yet cannot be dropped.
    fdatasync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
  }
}

}  // namespace opguard::analysis::benchmarks
