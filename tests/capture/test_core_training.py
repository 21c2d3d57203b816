"""Phases, steps, autograd nodes, recompute, lanes: what a record says about training's structure."""
import pytest
from core_trace import RECOMPUTE, TRUSTED, record

MODEL = """
import threading, torch, torch.nn as nn
from torch.utils.checkpoint import checkpoint
torch.manual_seed(1)
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)
    def forward(self, x):
        return self.drop(torch.relu(self.fc(x)))
class Net(nn.Module):
    def __init__(self, reentrant=None):
        super().__init__()
        self.block, self.reentrant = Block(), reentrant
    def forward(self, x):
        if self.reentrant is None:
            return self.block(x)
        return checkpoint(self.block, x, use_reentrant=self.reentrant)
"""

TRAIN = MODEL + """
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, foreach=%s)
def log(loss):
    loss.item()
for _ in range(3):
    for _ in range(2):
        loss = model(torch.randn(2, 4)).sum()
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    log(loss)
    optimizer.zero_grad(set_to_none=False)
"""


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    return record(TRAIN % False, tmp_path_factory.mktemp("training"))[1][0]


def test_steps_begin_after_the_last_optimizer_event(training):
    assert sorted(training.steps) == [1, 2, 3]
    assert training.steps[1] == 1
    logs = training.inside("log")
    assert [op.step for op in logs] == [2, 3, 3]  # after the last step no forward op comes
    assert training.steps[2] == logs[0].id
    optimizer = [op for op in training.ops if op.phase == "optimizer"]
    assert {op.step for op in optimizer} == {1, 2, 3}
    assert all("step" in op.functions for op in optimizer)


def test_phases_and_modules(training):
    linear = [op for op in training.ops if op.name == "aten::linear"]
    assert [(op.phase, op.module, op.step) for op in linear] == [
        ("forward", "block.fc", step) for step in (1, 1, 2, 2, 3, 3)]
    backward = [op for op in training.ops if op.node]
    assert {op.phase for op in backward} == {"backward"}
    clip = training.inside("clip_grad_norm_")
    assert clip and {op.phase for op in clip} == {"other"}


def test_a_backward_node_names_the_op_that_created_it(training):
    by_id = {op.id: op for op in training.ops}
    pairs = {(op.node, by_id[op.forward_op].name, by_id[op.forward_op].module)
             for op in training.ops if op.forward_op}
    assert ("AddmmBackward0", "aten::linear", "block.fc") in pairs
    assert ("ReluBackward0", "aten::relu", "block") in pairs
    assert ("MulBackward0", "aten::dropout", "block.drop") in pairs
    assert ("SumBackward0", "aten::sum", "") in pairs
    for op in training.ops:
        if op.forward_op:  # the latest forward, not one of an earlier micro-batch
            later = [o for o in training.ops if op.forward_op < o.id < op.id
                     and o.name == by_id[op.forward_op].name and o.phase == "forward"
                     and o.module == by_id[op.forward_op].module]
            assert not later


def test_children_are_one_text(training):
    op = next(op for op in training.ops if op.name == "aten::dropout")
    lines = op.inside.split("\n")
    assert any(line.lstrip().startswith("aten::bernoulli_.float(p=0.5") for line in lines)
    assert not lines[0].startswith(" ") and any(line.startswith(" ") for line in lines)


def test_ids_and_fingerprints_of_equal_runs_are_equal(training, tmp_path):
    _, (again,) = record(TRAIN % False, tmp_path)

    def key(op):
        return (op.id, op.name, op.arguments, op.phase, op.module, op.inside, op.lines[:0],
                [(t.slot, t.sizes, t.storage, t.state) for t in op.tensors.values()])
    assert [key(op) for op in again.ops] == [key(op) for op in training.ops]
    settled = [op for op in training.ops if "empty" not in op.name and op.phase == "backward"]
    assert [list(again.ops[op.id - 1].tensors.values()) for op in settled] == [
        list(op.tensors.values()) for op in settled]


def test_foreach_optimizers_write_their_lists(tmp_path):
    _, (trace,) = record(TRAIN % True, tmp_path)
    ops = [op for op in trace.ops if op.name.startswith("aten::_foreach_addcdiv_")]
    assert ops and all("mut0[1]" in op.tensors and op.phase == "optimizer" for op in ops)


@pytest.mark.parametrize("reentrant", [True, False])
def test_recompute_in_backward_is_forward_and_flagged(tmp_path, reentrant):
    _, (trace,) = record(MODEL + """
model = Net(reentrant=%s)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.randn(2, 4, requires_grad=True)).sum().backward()
    optimizer.step()
""" % reentrant, tmp_path)
    linear = [op for op in trace.ops if op.name == "aten::linear"]
    assert [(op.step, op.phase, op.flags & RECOMPUTE, op.module) for op in linear] == [
        (step, "forward", flag, "block.fc") for step in (1, 2) for flag in (0, RECOMPUTE)]
    first, again = linear[0].tensors, linear[1].tensors
    assert first["out0"].fingerprint == again["out0"].fingerprint
    by_id = {op.id: op for op in trace.ops}
    nodes = [op for op in trace.ops if op.node == "AddmmBackward0"]
    assert nodes and {by_id[op.forward_op].name for op in nodes} == {"aten::linear"}


def test_checkpoint_of_a_plain_function_is_recompute_too(tmp_path):
    _, (trace,) = record(MODEL + """
w = torch.randn(4, 4, requires_grad=True)
checkpoint(lambda x: torch.relu(x @ w), torch.ones(2, 4), use_reentrant=False).sum().backward()
""", tmp_path)
    matmul = [op for op in trace.ops if op.name == "aten::matmul"]
    assert [(op.phase, op.flags) for op in matmul] == [("forward", 0), ("forward", RECOMPUTE)]


def test_ops_of_a_custom_function_belong_to_its_node(tmp_path):
    _, (trace,) = record(MODEL + """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 3
model = Net()
Double.apply(model(torch.randn(2, 4))).sum().backward()
""", tmp_path)
    double = next(op for op in trace.ops if op.arguments == "other=2")
    triple = next(op for op in trace.ops if op.arguments == "other=3")
    assert (triple.node, triple.phase) == ("DoubleBackward", "backward")
    assert triple.forward_op == double.id
    relu = next(op for op in trace.ops if op.node == "ReluBackward0")
    assert trace.ops[relu.forward_op - 1].name == "aten::relu"


def test_a_closure_runs_forward_and_backward_inside_the_optimizer(tmp_path):
    _, (trace,) = record(MODEL + """
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def closure():
    optimizer.zero_grad()
    loss = model(torch.randn(2, 4)).sum()
    loss.backward()
    return loss
for _ in range(3):
    optimizer.step(closure)
""", tmp_path)
    linear = [op for op in trace.ops if op.name == "aten::linear"]
    assert [(op.phase, op.step) for op in linear] == [("forward", step) for step in (1, 2, 3)]
    update = [op for op in trace.ops if op.name.startswith("aten::add_") and not op.node]
    assert {op.phase for op in update} == {"optimizer"}
    assert {op.step for op in update} == {1, 2, 3}


def test_threads_are_lanes(tmp_path):
    _, (trace,) = record(MODEL + """
def work():
    for _ in range(20):
        torch.ones(3).mul(2)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
torch.ones(2)
for thread in threads: thread.join()
""", tmp_path)
    lanes = {}
    for op in trace.ops:
        lanes.setdefault(op.lane, []).append(op.name)
    assert sorted(lanes) == ["main", "thread.1", "thread.2", "thread.3"]
    for number in (1, 2, 3):
        assert lanes["thread.%d" % number] == ["aten::ones", "aten::mul.Tensor"] * 20


def test_trusted_repeats_digests_and_reads_what_changed(tmp_path):
    _, (trace,) = record(MODEL + """
x = torch.ones(3)
def case_unchanged():
    x + 1
def case_inplace():
    x.mul_(2)
    x + 1
def case_data():
    x.data.mul_(3)
    x + 1
def case_other_view():
    x[1:] + 1
    x[1:] + 1
def case_detached_alias():
    y = torch.from_numpy(x.numpy())
    y.add_(1)
    x + 1
def case_inference():
    with torch.inference_mode():
        z = torch.ones(2)
        z + 1
        z + 1
for name, case in list(globals().items()):
    if name.startswith("case_"):
        case()
""", tmp_path, mode="trusted")
    assert trace.facts["mode"] == "trusted"

    def inputs(case):
        return [op.tensors["in0"] for op in trace.inside(case) if op.name == "aten::add.Tensor"]
    made = trace.ops[0].tensors["out0"]
    (unchanged,) = inputs("case_unchanged")
    assert (unchanged.state, unchanged.fingerprint) == (TRUSTED, made.fingerprint)
    written = trace.one("case_inplace", "aten::mul_").tensors["out0"]
    (after,) = inputs("case_inplace")
    assert (after.state, after.fingerprint) == (TRUSTED, written.fingerprint)
    (after,) = inputs("case_data")
    assert after.fingerprint not in (written.fingerprint, made.fingerprint)
    first, second = inputs("case_other_view")
    assert (first.state, second.state) == (0, TRUSTED)
    assert first.fingerprint == second.fingerprint
    (after,) = inputs("case_detached_alias")
    assert after.state == 0
    assert [t.state for t in inputs("case_inference")] == [0, 0]


def test_level_inner_records_the_calls_inside(tmp_path):
    _, (trace,) = record(MODEL + """
model = Net()
model(torch.ones(2, 4)).sum().backward()
""", tmp_path, level="inner")
    linear = next(op for op in trace.ops if op.name == "aten::linear")
    inner = [op for op in trace.ops if op.parent == linear.id]
    assert [op.name for op in inner] == ["aten::t", "aten::addmm"]
    addmm = inner[1]
    assert addmm.phase == "forward" and addmm.module == "block.fc"
    assert addmm.tensors["out0"].fingerprint == linear.tensors["out0"].fingerprint
    node = next(op for op in trace.ops if op.node == "AddmmBackward0")
    assert node.forward_op == addmm.id
    assert [op.id for op in trace.ops] == list(range(1, len(trace.ops) + 1))


@pytest.mark.parametrize("window, recorded", [
    ({"from_step": "2", "steps": "1"}, {2}), ({"steps": "2"}, {1, 2}), ({"from_step": "3"}, {3})])
def test_a_window_records_its_steps_only(tmp_path, window, recorded):
    _, (trace,) = record(TRAIN % False, tmp_path, **window)
    linear = [op for op in trace.ops if op.name == "aten::linear"]
    assert {op.step for op in linear} == recorded
    assert len(linear) == 2 * len(recorded)
    optimizer = [op for op in trace.ops if op.phase == "optimizer"]
    assert {op.step for op in optimizer} == recorded


def test_compiled_training_records_no_fake_call(tmp_path):
    _, (trace,) = record(MODEL + """
model = torch.compile(Net(), backend="aot_eager")
for _ in range(2):
    model(torch.ones(2, 4)).sum().backward()
""", tmp_path)
    assert int(trace.facts["skipped.compile"]) > 0
    assert trace.notes == []
    assert [op.name for op in trace.ops if op.name.startswith("aten::addmm")] == [
        "aten::addmm"] * 2
