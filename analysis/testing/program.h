// A toy training program whose run gives a trace: every value is a hash of the op, its arguments
// and the values it read, so that an edit of the program changes just what it would change in a
// real run. Statements keep their number through edits: the right alignment is known.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/testing/trace_builder.h"

namespace opguard::analysis::testing {

struct Statement {
  std::string op;  // "aten::mm"; empty: a new step begins here
  std::vector<std::string> reads;
  std::string writes;  // a variable; empty: none
  std::string module;  // empty: none
  store::Phase phase = store::Phase::kForward;
  std::string arguments;  // "alpha=1", empty: none
  std::vector<std::int64_t> sizes = {4, 4};
  bool is_in_place = false;        // writes its first argument
  bool draws = false;              // the value is the generator's next one
  std::uint32_t flags = 0;         // store::OpFlag
  std::int64_t forward = 0;        // number of the forward statement of a backward one, 0 none
  std::uint64_t perturbation = 0;  // another result from the same inputs
  std::int64_t number = 0;         // 0: not in the original program
};

using Program = std::vector<Statement>;

struct TrainingOptions {
  std::int64_t steps = 2, layers = 2, micro_batches = 1;
  bool use_modules = true;
};

// Steps of a small transformer: data, forward, backward, a loop optimizer. Numbered from 1.
// A step has about micro_batches * (6 + 48 * layers) + 96 * layers ops.
Program MakeTraining(const TrainingOptions& options);

// Runs `program` into `trace`. `flush`, if given, is called after every step, so that a large run
// can be written as it goes. Returns for each op, in order, the number of its statement.
std::vector<std::int64_t> Run(const Program& program, TraceBuilder& trace,
                              const std::function<void()>& flush = {});

}  // namespace opguard::analysis::testing
