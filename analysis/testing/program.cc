#include "analysis/testing/program.h"

#include <unordered_map>
#include <utility>

namespace opguard::analysis::testing {
namespace {

std::uint64_t Combine(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9fb21c651e98df25ULL;
  return hash ^ (hash >> 28);
}

std::string LayerName(std::int64_t layer) {
  return std::string("h.").append(std::to_string(layer));
}

// Writes the statements of a transformer's training steps.
class Training {
 public:
  explicit Training(const TrainingOptions& options) : options_(options) {}

  Program Write() {
    for (std::int64_t step = 0; step < options_.steps; ++step) {
      program_.push_back({});
      for (std::int64_t micro = 0; micro < options_.micro_batches; ++micro) {
        MicroBatch(std::to_string(step) + "." + std::to_string(micro));
      }
      Optimizer();
    }
    return std::move(program_);
  }

 private:
  Statement& Add(const std::string& op, std::vector<std::string> reads, const std::string& writes,
                 store::Phase phase, const std::string& module,
                 std::vector<std::int64_t> sizes = {4, 4}) {
    Statement statement;
    statement.op = op;
    statement.reads = std::move(reads);
    statement.writes = writes;
    statement.phase = phase;
    if (options_.use_modules) statement.module = module;
    statement.sizes = std::move(sizes);
    statement.number = ++numbers_;
    program_.push_back(std::move(statement));
    return program_.back();
  }

  // A forward op on the activation "x", remembered for the backward pass.
  Statement& Forward(const std::string& op, const std::string& weight, const std::string& module,
                     std::vector<std::int64_t> sizes = {4, 4}) {
    std::vector<std::string> reads = {"x"};
    if (!weight.empty()) reads.push_back(weight);
    Statement& statement = Add(op, reads, "x", store::Phase::kForward, module, std::move(sizes));
    tape_.push_back({statement.op, weight, statement.sizes, statement.number});
    return statement;
  }

  void MicroBatch(const std::string& name) {
    Add("aten::stack", {"data." + name}, "batch", store::Phase::kOther, "");
    Add("aten::to.dtype", {"batch"}, "batch", store::Phase::kOther, "").arguments = "dtype=int64";
    Add("aten::embedding", {"wte", "batch"}, "x", store::Phase::kForward, "wte", {4, 8});
    for (std::int64_t layer = 0; layer < options_.layers; ++layer) Layer(layer);
    Forward("aten::mm", "head", "lm_head", {4, 16});
    Forward("aten::cross_entropy_loss", "", "", {});
    Add("aten::ones_like", {"x"}, "g", store::Phase::kBackward, "", {});
    while (!tape_.empty()) Backward();
  }

  void Layer(std::int64_t layer) {
    const std::string h = LayerName(layer);
    Forward("aten::layer_norm", h + ".ln_1.w", h + ".ln_1", {4, 8}).arguments = "eps=1e-05";
    Forward("aten::linear", h + ".attn.w", h + ".attn.c_attn", {4, 24});
    Forward("aten::split.Tensor", "", h + ".attn", {4, 8});
    Forward("aten::matmul", "", h + ".attn", {4, 4});
    Forward("aten::mul.Tensor", "", h + ".attn", {4, 4}).arguments = "other=0.125";
    Forward("aten::softmax.int", "", h + ".attn", {4, 4}).arguments = "dim=-1";
    Add("aten::bernoulli", {}, "mask", store::Phase::kForward, h + ".attn.drop").draws = true;
    Forward("aten::mul.Tensor", "mask", h + ".attn.drop", {4, 4});
    Forward("aten::matmul", "", h + ".attn", {4, 8});
    Forward("aten::linear", h + ".attn.p", h + ".attn.c_proj", {4, 8});
    Forward("aten::add.Tensor", "", h, {4, 8}).arguments = "alpha=1";
    Forward("aten::layer_norm", h + ".ln_2.w", h + ".ln_2", {4, 8}).arguments = "eps=1e-05";
    Forward("aten::linear", h + ".mlp.w", h + ".mlp.c_fc", {4, 32});
    Forward("aten::gelu", "", h + ".mlp.act", {4, 32});
    Forward("aten::linear", h + ".mlp.p", h + ".mlp.c_proj", {4, 8});
    Forward("aten::add.Tensor", "", h, {4, 8}).arguments = "alpha=1";
  }

  void Backward() {
    const Taped taped = tape_.back();
    tape_.pop_back();
    const auto add = [&](const std::string& op, std::vector<std::string> reads,
                         const std::string& writes) -> Statement& {
      Statement& statement =
          Add(op, std::move(reads), writes, store::Phase::kBackward, "", taped.sizes);
      statement.module.clear();
      statement.forward = taped.number;
      return statement;
    };
    if (taped.weight.empty() || taped.weight == "mask") {
      add("aten::mul.Tensor", {"g"}, "g");
      return;
    }
    add("aten::mm", {"g", taped.weight}, "g." + taped.weight);
    add("aten::mm", {"g"}, "g");
    add("aten::add_.Tensor", {"grad." + taped.weight, "g." + taped.weight}, "grad." + taped.weight)
        .is_in_place = true;
  }

  void Optimizer() {
    for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
      for (const char* weight : {".ln_1.w", ".attn.w", ".attn.p", ".ln_2.w", ".mlp.w", ".mlp.p"}) {
        Update(LayerName(layer) + weight);
      }
    }
  }

  void Update(const std::string& weight) {
    const std::string grad = "grad." + weight, mean = "avg." + weight, square = "sq." + weight;
    const auto in_place = [&](const std::string& op, std::vector<std::string> reads,
                              const std::string& arguments) {
      const std::string writes = reads.front();
      Statement& statement = Add(op, std::move(reads), writes, store::Phase::kOptimizer, "");
      statement.is_in_place = true;
      statement.arguments = arguments;
    };
    in_place("aten::mul_.Scalar", {weight}, "other=0.999");
    in_place("aten::lerp_.Scalar", {mean, grad}, "weight=0.1");
    in_place("aten::mul_.Scalar", {square}, "other=0.99");
    in_place("aten::addcmul_", {square, grad, grad}, "value=0.01");
    Add("aten::sqrt", {square}, "denom", store::Phase::kOptimizer, "");
    in_place("aten::add_.Scalar", {"denom"}, "other=1e-08");
    in_place("aten::addcdiv_", {weight, mean, "denom"}, "value=-0.001");
    in_place("aten::zero_", {grad}, "");
  }

  struct Taped {
    std::string op, weight;
    std::vector<std::int64_t> sizes;
    std::int64_t number;
  };
  TrainingOptions options_;
  Program program_;
  std::vector<Taped> tape_;
  std::int64_t numbers_ = 0;
};

// A variable: the value it holds and the geometry it was written with.
struct Variable {
  std::uint64_t value;
  std::vector<std::int64_t> sizes;
  std::int64_t storage;
};

class Machine {
 public:
  explicit Machine(TraceBuilder& trace) : trace_(trace) {}

  std::vector<std::int64_t> Run(const Program& program, const std::function<void()>& flush) {
    for (const Statement& statement : program) {
      if (statement.op.empty()) {
        if (flush) flush();
        trace_.Step();
      } else {
        Execute(statement);
      }
    }
    return std::move(numbers_);
  }

 private:
  Variable& Lookup(const std::string& name) {
    const auto at = variables_.find(name);
    if (at != variables_.end()) return at->second;
    return variables_.emplace(name, Variable{ValueOf("initial " + name), {4, 4}, next_storage_++})
        .first->second;
  }

  static Tensor TensorOf(const Variable& variable) {
    Tensor tensor(std::to_string(variable.storage), variable.sizes);
    tensor.fingerprint = variable.value;
    tensor.unordered = Combine(variable.value, 1);
    return tensor;
  }

  void Execute(const Statement& statement) {
    trace_.Phase(statement.phase);
    if (statement.module.empty()) {
      trace_.NoModule();
    } else {
      trace_.Module(statement.module);
    }
    trace_.Op(statement.op).Flags(statement.flags);
    if (statement.draws) trace_.Traits(store::kDraws);
    if (statement.is_in_place) trace_.Traits(store::kWrites);
    numbers_.push_back(statement.number);
    op_of_[statement.number] = trace_.LastOp();
    if (statement.forward != 0) {
      trace_.Node("Backward", op_of_[statement.forward]);
    }
    if (!statement.arguments.empty()) {
      const auto equals = statement.arguments.find('=');
      trace_.Arg(statement.arguments.substr(0, equals), statement.arguments.substr(equals + 1));
    }
    std::uint64_t value = Combine(ValueOf(statement.op), ValueOf(statement.arguments));
    value = Combine(value, statement.perturbation);
    for (const std::string& name : statement.reads) {
      const Variable& variable = Lookup(name);
      value = Combine(value, variable.value);
      trace_.In(TensorOf(variable));
    }
    if (statement.draws) value = Combine(++drawn_, ValueOf("generator"));
    Write(statement, value);
  }

  void Write(const Statement& statement, std::uint64_t value) {
    if (statement.writes.empty()) return;
    Variable& variable = Lookup(statement.writes);
    // Zeroing forgets what was read.
    variable.value = statement.op == "aten::zero_" ? ValueOf("zeros") : value;
    if (statement.is_in_place) {
      trace_.Mut(0, TensorOf(variable));
      return;
    }
    variable.sizes = statement.sizes;
    variable.storage = next_storage_++;
    trace_.Out(TensorOf(variable));
  }

  TraceBuilder& trace_;
  std::unordered_map<std::string, Variable> variables_;
  std::unordered_map<std::int64_t, std::int64_t> op_of_;
  std::vector<std::int64_t> numbers_;
  std::int64_t next_storage_ = 1;
  std::uint64_t drawn_ = 0;
};

}  // namespace

Program MakeTraining(const TrainingOptions& options) { return Training(options).Write(); }

std::vector<std::int64_t> Run(const Program& program, TraceBuilder& trace,
                              const std::function<void()>& flush) {
  return Machine(trace).Run(program, flush);
}

}  // namespace opguard::analysis::testing
