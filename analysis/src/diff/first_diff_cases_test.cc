// Public bug reports as the operators that torch really runs for them, each with its right answer
// and the wrong ones that tempt.
#include "diff_test_support.h"

namespace opguard::analysis {
namespace {

using testing::Phase;

// Forward and backward of a linear model with a squared loss; the gradient is "grad".
void TrainStep(TraceBuilder& t, const std::string& x, const Tensor& weight,
               const std::string& variant = "") {
  const std::string from = x + "*" + std::to_string(weight.fingerprint) + variant;
  t.Phase(Phase::kForward).Module("fc", "Linear");
  t.Op("aten::linear").In(Tensor(x)).In(weight).Out(Tensor("y" + x).Value("y" + from));
  const std::int64_t forward = t.LastOp();
  t.NoModule();
  t.Op("aten::mse_loss")
      .In(Tensor("y" + x).Value("y" + from))
      .In(Tensor("target"))
      .Arg("reduction", "1");
  t.Out(Tensor("loss" + x, {}).Value("loss" + from));
  t.Phase(Phase::kBackward).Lane("main").Node("AddmmBackward0", forward);
  t.Op("aten::mm").Node("AddmmBackward0", forward).In(Tensor("y" + x).Value("y" + from));
  t.In(Tensor(x)).Out(Tensor("grad").Value("grad" + from));
}

// torch.tensor(value): allocated, filled unseen.
void MakeScalar(TraceBuilder& t, const std::string& name, const std::string& value) {
  const Tensor scalar(name, {});
  t.Op("aten::empty.memory_format").Out(scalar.Value("garbage of " + name));
  t.Op("aten::to.dtype").In(scalar.Value(value)).Out(scalar.View());
  t.Op("aten::lift_fresh").In(scalar.Value(value)).Out(scalar.View());
  t.Op("aten::detach_").In(scalar.Value(value)).Mut(0, scalar.Value(value));
}

// One parameter's AdamW update in the loop implementation.
void LoopUpdate(TraceBuilder& t, const std::string& step, const Tensor& average,
                const std::string& square, const std::string& weight) {
  const std::string all = step + std::to_string(average.fingerprint) + square + weight;
  t.Phase(Phase::kOptimizer).NoModule();
  t.Op("aten::add_.Tensor").In(Tensor("step", {}).Value(step)).Arg("other", "1");
  t.Mut(0, Tensor("step", {}).Value(step + "+1"));
  t.Op("aten::mul_.Tensor").In(Tensor("weight").Value(weight)).Arg("other", "0.999");
  t.Mut(0, Tensor("weight").Value(weight + "*"));
  t.Op("aten::lerp_.Scalar").In(average).In(Tensor("grad")).Arg("weight", "0.1");
  t.Mut(0, average.Value("average" + all));
  t.Op("aten::addcmul_").In(Tensor("square").Value(square)).In(Tensor("grad")).In(Tensor("grad"));
  t.Mut(0, Tensor("square").Value("square" + all));
  t.Op("aten::item").In(Tensor("step", {}).Value(step + "+1"));
  t.Op("aten::sqrt").In(Tensor("square").Value("square" + all)).Out(Tensor("denom").Value(all));
  t.Op("aten::addcdiv_").In(Tensor("weight").Value(weight + "*"));
  t.In(average.Value("average" + all)).In(Tensor("denom").Value(all)).Arg("value", "-0.001");
  t.Mut(0, Tensor("weight").Value("weight" + all));
}

TEST_CASE("Case 1: index_put_ accumulating is the origin, not the op that reads the bins") {
  const auto run = [](const std::string& sum) {
    TraceBuilder t;
    t.Op("aten::randint").Traits(store::kDraws).Arg("high", "50").Rng("cpu", 0, 1, 2);
    t.Out(Tensor("index", {1000}).Dtype("int64"));
    t.Op("aten::zeros").Arg("size", "[50]").Out(Tensor("bins", {50}).Value("zeros"));
    t.Op("aten::index_put_").Traits(store::kWrites).In(Tensor("bins", {50}).Value("zeros"));
    t.InList({Tensor("index", {1000}).Dtype("int64")}).In(Tensor("values", {1000}));
    t.Arg("accumulate", "True").Inside("aten::_index_put_impl_(accumulate=True, unsafe=False)");
    t.Mut(0, Tensor("bins", {50}).Value(sum)).Out(Tensor("bins", {50}).View());
    t.Op("aten::sum").In(Tensor("bins", {50}).Value(sum)).Out(Tensor("s", {}).Value("s" + sum));
    return t;
  };
  const Judged judged = JudgeBothWays(run("first order"), run("second order"));
  CheckDiverged(judged, Verdict::kOrigin, "aten::index_put_");
  CHECK(judged.diff.certainty == Certainty::kCertain);
  CHECK(judged.diff.inputs_equal);
  CHECK_FALSE(judged.diff.hypothesis.empty());
  CHECK(judged.diff.receivers == 1);
}

TEST_CASE("Case 2: a resume without optimizer state parts in the optimizer, gradients equal") {
  const auto run = [](bool is_restored, bool sees_loading) {
    TraceBuilder t;
    t.Step().Phase(Phase::kOther);
    if (is_restored && sees_loading) {
      for (const std::string state : {"average", "square", "step"}) {
        t.Op("aten::empty").Arg("size", "[0]").Out(Tensor(state).Value("garbage"));
        t.Op("aten::set_.source_Storage_storage_offset").In(Tensor(state).Value("garbage"));
        t.Mut(0, Tensor(state, state == "step" ? std::vector<std::int64_t>{}
                                               : std::vector<std::int64_t>{4, 4})
                     .Value(state + "100"));
      }
    }
    TrainStep(t, "x", Tensor("weight"));
    t.Phase(Phase::kOptimizer);
    if (!is_restored) {
      MakeScalar(t, "step", "step0");
      t.Op("aten::zeros_like").In(Tensor("weight")).Out(Tensor("average").Value("zeros"));
      t.Op("aten::zeros_like").In(Tensor("weight")).Out(Tensor("square").Value("zeros"));
    }
    LoopUpdate(t, is_restored ? "step100" : "step0",
               Tensor("average").Value(is_restored ? "average100" : "zeros"),
               is_restored ? "square100" : "zeros", "weight");
    const std::string all = is_restored ? "step100" : "step0";
    t.Step();
    TrainStep(t, "x2", Tensor("weight").Value("after " + all));
    return t;
  };
  for (const bool sees_loading : {false, true}) {
    const Judged judged = JudgePair(run(true, sees_loading), run(false, sees_loading));
    INFO(judged.diff.op.name, " ", judged.diff.reason);
    CHECK(judged.diff.status == Status::kDiverged);
    CHECK(judged.diff.verdict == Verdict::kStructural);
    CHECK(judged.diff.op.phase == Phase::kOptimizer);
    CHECK(judged.diff.op.step == 1);
    CHECK(judged.diff.equal_before.ops == 3);
    CHECK(judged.diff.equal_before.matmuls == 2);
    CHECK(judged.diff.hypothesis.find("optimizer state") != std::string::npos);
    const Judged swapped = JudgePair(run(false, sees_loading), run(true, sees_loading));
    CHECK(swapped.diff.verdict == Verdict::kStructural);
    CHECK(swapped.diff.op.phase == Phase::kOptimizer);
    CHECK(swapped.diff.equal_before.ops == 3);
  }
}

TEST_CASE("Case 2: state that both sides loaded, but not alike, is input_data of the optimizer") {
  const auto run = [](const std::string& average) {
    TraceBuilder t;
    TrainStep(t, "x", Tensor("weight"));
    LoopUpdate(t, "step1", Tensor("average").Value(average), "square1", "weight");
    return t;
  };
  const Judged judged = JudgeBothWays(run("average1"), run("average2"));
  CheckDiverged(judged, Verdict::kInputData, "aten::lerp_.Scalar");
  CHECK(judged.diff.op.phase == Phase::kOptimizer);
  CHECK(judged.diff.reason.find("state of the optimizer") != std::string::npos);
}

TEST_CASE("Case 3: optimizer state in bf16 is dtype at the cast, not a value of the update") {
  const auto run = [](bool keeps_master) {
    TraceBuilder t;
    const Tensor half = Tensor("half").Dtype("bfloat16");
    t.Phase(Phase::kOther);
    t.Op("aten::to.dtype").In(Tensor("weight")).Arg("dtype", "bfloat16").Out(half);
    if (keeps_master) {
      t.Op("aten::to.dtype").In(half).Arg("dtype", "float32").Out(Tensor("master"));
    }
    t.Phase(Phase::kForward).Module("fc", "Linear");
    t.Op("aten::linear").In(Tensor("x").Dtype("bfloat16")).In(half);
    t.Out(Tensor("y").Dtype("bfloat16"));
    const Tensor weight = keeps_master ? Tensor("master") : half;
    const std::string kind = keeps_master ? "32" : "16";
    t.Phase(Phase::kOptimizer).NoModule();
    t.Op("aten::zeros_like").In(weight);
    const Tensor average = Tensor("average").Dtype(weight.dtype).Value("zeros" + weight.dtype);
    t.Out(average);
    t.Op("aten::lerp_.Scalar").In(average).In(Tensor("grad").Dtype(weight.dtype));
    t.Mut(0, average.Value("average" + kind));
    t.Op("aten::addcdiv_").In(weight).In(average.Value("average" + kind));
    t.Mut(0, weight.Value("weight" + kind));
    return t;
  };
  const Judged judged = JudgeBothWays(run(true), run(false));
  CheckDiverged(judged, Verdict::kDtype, "aten::to.dtype");
  CHECK(judged.diff.reason.find("bfloat16 to float32") != std::string::npos);
}

TEST_CASE("Case 3: parameters cast unseen show as dtype where the optimizer makes its state") {
  const auto run = [](const std::string& dtype) {
    TraceBuilder t;
    t.Phase(Phase::kOptimizer);
    t.Op("aten::zeros_like").In(Tensor("weight").Value("w" + dtype).Dtype(dtype));
    t.Out(Tensor("average").Value("zeros" + dtype).Dtype(dtype));
    t.Op("aten::lerp_.Scalar").In(Tensor("average").Value("zeros" + dtype).Dtype(dtype));
    t.Mut(0, Tensor("average").Value("a" + dtype).Dtype(dtype));
    return t;
  };
  CheckDiverged(JudgeBothWays(run("float32"), run("bfloat16")), Verdict::kDtype,
                "aten::zeros_like");
}

TEST_CASE("Case 4: a buffer cast with the model is dtype at the cast, not at the frequencies") {
  const auto run = [](bool casts_buffer) {
    TraceBuilder t;
    t.Phase(Phase::kOther);
    t.Op("aten::to.dtype").In(Tensor("w1")).Arg("dtype", "bfloat16");
    t.Out(Tensor("h1").Dtype("bfloat16"));
    const Tensor frequencies("inv_freq", {8});
    if (casts_buffer) {
      t.Op("aten::to.dtype").In(frequencies).Arg("dtype", "bfloat16");
      t.Out(Tensor("inv_half", {8}).Dtype("bfloat16"));
    }
    t.Op("aten::to.dtype").In(Tensor("w2")).Arg("dtype", "bfloat16");
    t.Out(Tensor("h2").Dtype("bfloat16"));
    t.Step().Phase(Phase::kForward).Module("rotary", "Rotary");
    t.Op("aten::outer").In(Tensor("positions", {16}));
    t.In(casts_buffer ? Tensor("inv_half", {8}).Dtype("bfloat16") : frequencies);
    t.Out(Tensor("angles", {16, 8}).Value(casts_buffer ? "coarse" : "fine"));
    t.Op("aten::cos").In(Tensor("angles", {16, 8}).Value(casts_buffer ? "coarse" : "fine"));
    t.Out(Tensor("cos", {16, 8}).Value(casts_buffer ? "coarse cos" : "fine cos"));
    return t;
  };
  const Judged judged = JudgeBothWays(run(false), run(true));
  CheckDiverged(judged, Verdict::kDtype, "aten::to.dtype");
  CHECK(judged.diff.op.seq_b == 2);
  CHECK(judged.diff.reason.find("aten::outer") != std::string::npos);
}

TEST_CASE("Case 5: fractional coordinates made another way, not the embedding that reads them") {
  const auto run = [](bool is_scaled) {
    TraceBuilder t;
    t.Step().Phase(Phase::kForward).Module("embeddings", "PatchEmbeddings");
    Tensor fraction("fraction", {24});
    if (is_scaled) {
      t.Op("aten::arange.start").Arg("end", "24").Arg("dtype", "float32");
      t.Out(Tensor("index", {24}));
      t.Op("aten::div.Tensor").In(Tensor("index", {24})).Arg("other", "24");
      t.Out(Tensor("ratio", {24}));
      t.Op("aten::mul.Tensor").In(Tensor("ratio", {24})).Arg("other", "0.999999");
      t.Out(Tensor("scaled", {24}));
      fraction = Tensor("scaled", {24});
    } else {
      t.Op("aten::arange.start_step").Arg("end", "1").Arg("step", "0.041666666666666664");
      t.Out(fraction);
    }
    const std::string kind = is_scaled ? "scaled" : "stepped";
    t.Op("aten::bucketize.Tensor").In(fraction).In(Tensor("boundaries", {23}));
    t.Out(Tensor("ids", {24}).Dtype("int64").Value("ids " + kind));
    t.Op("aten::embedding")
        .In(Tensor("table"))
        .In(Tensor("ids", {24}).Dtype("int64").Value("ids " + kind));
    t.Out(Tensor("e", {24, 4}).Value("e " + kind));
    return t;
  };
  for (const bool is_scaled_b : {false, true}) {
    const Judged judged = JudgePair(run(!is_scaled_b), run(is_scaled_b));
    INFO(judged.diff.op.name, " ", judged.diff.reason);
    CHECK(judged.diff.verdict == Verdict::kStructural);
    CHECK(judged.diff.op.name != "aten::embedding");
    CHECK(judged.diff.op.name != "aten::bucketize.Tensor");
    CHECK(judged.diff.missing_total + judged.diff.extra_total == 4);
    CHECK(judged.diff.reason.find("aten::bucketize.Tensor") != std::string::npos);
  }
}

TEST_CASE("Case 6: probabilities cast before the all-gather, not the expert's product") {
  const auto run = [](bool casts) {
    TraceBuilder t;
    t.Step().Phase(Phase::kForward).Module("router", "Router");
    t.Op("aten::softmax.int").In(Tensor("logits")).Arg("dim", "-1").Out(Tensor("probs"));
    const Tensor sent = casts ? Tensor("cast").Dtype("bfloat16") : Tensor("probs");
    if (casts) {
      t.Op("aten::to.dtype").In(Tensor("probs")).Arg("dtype", "bfloat16").Out(sent);
    }
    const Tensor gathered =
        Tensor("gathered", {8, 4}).Dtype(sent.dtype).Value("gathered " + sent.dtype);
    t.Op("aten::empty.memory_format").Out(gathered.Value("garbage " + sent.dtype));
    t.Op("c10d::_allgather_base_").In(gathered.Value("garbage " + sent.dtype)).In(sent);
    t.Mut(0, gathered);
    t.Module("expert", "Expert");
    t.Op("aten::mul.Tensor").In(Tensor("h", {8, 4})).In(gathered);
    t.Out(Tensor("weighted", {8, 4}).Value("weighted " + sent.dtype));
    t.Op("aten::mm").In(Tensor("weighted", {8, 4}).Value("weighted " + sent.dtype));
    t.In(Tensor("w")).Out(Tensor("o", {8, 4}).Value("o " + sent.dtype));
    return t;
  };
  const Judged judged = JudgeBothWays(run(false), run(true));
  CheckDiverged(judged, Verdict::kDtype, "aten::to.dtype");
  CHECK(judged.diff.op.module == "router");
  CHECK(judged.diff.equal_before.collectives == 0);
}

TEST_CASE("Case 7: dropout under another generator stream is rng at the dropout") {
  const auto run = [](const std::string& mask, std::uint64_t state) {
    TraceBuilder t;
    t.Step().Phase(Phase::kForward).Module("drop", "Dropout");
    t.Op("aten::dropout").Traits(store::kDraws).In(Tensor("x")).Arg("p", "0.1");
    t.Inside("aten::empty_like()").Inside("aten::bernoulli_.float(p=0.9)");
    t.Rng("cpu", 0, state, state + 1).Out(Tensor("d").Value(mask));
    t.Op("aten::linear").In(Tensor("d").Value(mask)).In(Tensor("w"));
    t.Out(Tensor("y").Value("y" + mask));
    return t;
  };
  CheckDiverged(JudgeBothWays(run("m1", 1), run("m2", 5)), Verdict::kRng, "aten::dropout");
}

TEST_CASE("Case 8: preprocessing that changed is input_data, not the first convolution") {
  const auto run = [](const std::string& version) {
    TraceBuilder t;
    t.Step().Phase(Phase::kOther);
    t.Op("aten::lift_fresh").In(Tensor("array").Value("pixels" + version));
    t.Out(Tensor("array").View());
    t.Op("aten::stack").InList({Tensor("array").Value("pixels" + version)});
    t.Out(Tensor("batch").Value("batch" + version));
    t.Phase(Phase::kForward).Module("patch", "Conv2d");
    t.Op("aten::conv2d").In(Tensor("batch").Value("batch" + version)).In(Tensor("kernel"));
    t.Out(Tensor("y").Value("y" + version));
    return t;
  };
  const Judged judged = JudgeBothWays(run("4.50"), run("4.55"));
  CheckDiverged(judged, Verdict::kInputData, "aten::stack");
  CHECK(judged.diff.receivers == 1);
}

TEST_CASE("Case 14: two implementations of AdamW are structural, gradients equal") {
  const auto loop = [](const std::string& result) {
    TraceBuilder t;
    TrainStep(t, "x", Tensor("weight"));
    t.Phase(Phase::kOptimizer).NoModule();
    t.Op("aten::zeros_like").In(Tensor("weight")).Out(Tensor("average").Value("zeros"));
    t.Op("aten::lerp_.Scalar").In(Tensor("average").Value("zeros")).In(Tensor("grad"));
    t.Mut(0, Tensor("average").Value("a1"));
    t.Op("aten::addcdiv_").In(Tensor("weight")).In(Tensor("average").Value("a1"));
    t.Mut(0, Tensor("weight").Value(result));
    return t;
  };
  const auto foreach = [](const std::string& result) {
    TraceBuilder t;
    TrainStep(t, "x", Tensor("weight"));
    t.Phase(Phase::kOptimizer).NoModule();
    t.Op("aten::zeros_like").In(Tensor("weight")).Out(Tensor("average").Value("zeros"));
    t.Op("aten::_foreach_lerp_.Scalar").InList({Tensor("average").Value("zeros")});
    t.InList({Tensor("grad")}).Mut(0, Tensor("average").Value("a1"), 0);
    t.Op("aten::_foreach_addcdiv_.ScalarList").InList({Tensor("weight")});
    t.InList({Tensor("average").Value("a1")}).Mut(0, Tensor("weight").Value(result), 0);
    return t;
  };
  // The parameter's last value is all that is left of the step.
  const Judged judged = JudgePair(loop("w1"), foreach ("w1'"));
  INFO(judged.diff.op.name, " ", judged.diff.reason);
  CHECK(judged.diff.verdict == Verdict::kStructural);
  CHECK(judged.diff.op.phase == Phase::kOptimizer);
  CHECK(judged.diff.equal_before.matmuls == 2);
  CHECK(judged.diff.equal_before.ops == 4);
  CHECK(JudgePair(foreach ("w1"), loop("w1'")).diff.verdict == Verdict::kStructural);
  CHECK(JudgePair(loop("w1"), foreach ("w1")).diff.status == Status::kNoDifferenceInCoverage);

  // With a second step its forward reads the difference, and is not accused.
  TraceBuilder a = loop("w1"), b = foreach ("w1'");
  a.Step();
  b.Step();
  TrainStep(a, "x2", Tensor("weight").Value("w1"));
  TrainStep(b, "x2", Tensor("weight").Value("w1'"));
  const Judged later = JudgePair(a, b);
  CHECK(later.diff.verdict == Verdict::kStructural);
  CHECK(later.diff.op.phase == Phase::kOptimizer);
  CHECK(later.diff.receivers == 3);
}

}  // namespace
}  // namespace opguard::analysis
