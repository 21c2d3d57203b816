"""Capture changes nothing: eager training."""
import json

from shim_process import TRAIN, Capture, run

PROGRAM = """
import copy, hashlib, json, io, pickle, sys, threading, warnings
import torch, torch.nn as nn
from torch.utils.checkpoint import checkpoint
from torch.profiler import profile, ProfilerActivity
torch.manual_seed(3)

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.fc, self.drop = nn.LayerNorm(8), nn.Linear(8, 8), nn.Dropout(0.2)
    def forward(self, x):
        return Double.apply(self.drop(torch.relu_(self.fc(self.norm(x))))) + x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.frozen = nn.Linear(8, 8).requires_grad_(False)
        self.blocks[0].register_forward_hook(lambda module, args, out: out * 1.5)
        self.blocks[1].register_full_backward_hook(lambda module, gi, go: None)
    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.frozen(x)

model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
losses, grads, ops = [], [], []
for step in range(3):
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(2):
            loss = model(torch.randn(4, 8)).square().mean() / 2
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    ops.append([event.name for event in profiler.events() if not event.name.startswith("[")])
    losses.append(loss.item().hex())
    grads.append(hashlib.sha1(b"".join(p.grad.numpy().tobytes() for p in model.parameters()
                                       if p.grad is not None)).hexdigest())
    optimizer.zero_grad()

class Failing(nn.Module):
    def forward(self, x):
        raise KeyError("mine")
try:
    Failing()(1)
except KeyError as error:
    failed = str(error)

data = io.BytesIO()
torch.save(model.state_dict(), data)
plain = nn.Sequential(nn.ReLU(), nn.Dropout())  # a pickled parameter holds an address
plain(torch.ones(1, 8))
scripted = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2))
print(json.dumps({
    "losses": losses, "grads": grads, "ops": ops, "failed": failed,
    "state": hashlib.sha1(data.getvalue()).hexdigest(),
    "pickle": hashlib.sha1(pickle.dumps(plain)).hexdigest(),
    "attributes": sorted(vars(model.blocks[2])), "deepcopy": sorted(vars(copy.deepcopy(model))),
    "hooks": [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()],
    "scripted": scripted(torch.ones(1, 2)).tolist(),
    "call": [nn.Module._call_impl.__name__, nn.Module._call_impl.__qualname__,
             nn.Module._call_impl.__module__],
    "threads": threading.active_count()}))
"""


def test_losses_gradients_ops_objects_and_warnings_are_the_same(tmp_path):
    capture = Capture(tmp_path / "traces")
    plain = run(PROGRAM, None, options=["-W", "always"], cwd=tmp_path)
    captured = run(PROGRAM, capture, options=["-W", "always"], cwd=tmp_path)
    assert plain.returncode == 0, plain.stderr
    assert captured.returncode == 0, captured.stderr
    expected, found = json.loads(plain.stdout), json.loads(captured.stdout)
    for key in expected:
        assert found[key] == expected[key], key
    assert _without_profiler(captured.stderr) == _without_profiler(plain.stderr)
    assert capture.query("SELECT count(*) FROM op") > [(100,)]


def _without_profiler(text):
    """Leaves out the profiler's own lines, which hold times and process ids."""
    return [line for line in text.splitlines() if "SyncActivityProfilerHandler" not in line]


def test_random_numbers_and_seeds_are_the_same(tmp_path):
    code = TRAIN + """
import random, numpy
random.seed(4); numpy.random.seed(4)
print([step().item().hex() for _ in range(3)], random.random(), numpy.random.rand(),
      torch.initial_seed(), torch.rand(1).item().hex())
"""
    assert (run(code, Capture(tmp_path / "traces"), cwd=tmp_path).stdout
            == run(code, None, cwd=tmp_path).stdout)


def test_fx_and_export_see_the_same_graphs(tmp_path):
    code = """
import torch, torch.nn as nn
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
model(torch.ones(1, 4))
print(torch.fx.symbolic_trace(model).code)
print(torch.export.export(model, (torch.ones(1, 4),)).graph)
"""
    captured = run(code, Capture(tmp_path / "traces"), cwd=tmp_path)
    assert captured.returncode == 0, captured.stderr
    assert captured.stdout == run(code, None, cwd=tmp_path).stdout
