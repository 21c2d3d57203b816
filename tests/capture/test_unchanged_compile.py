"""Capture changes nothing: the same graphs, breaks, recompiles and warnings of torch.compile."""
import json

import pytest
from shim_process import Capture, run

PROGRAM = """
import json, logging, sys, warnings
import torch, torch.nn as nn, torch._dynamo
from torch._dynamo.utils import counters
torch.manual_seed(3)
backend = sys.argv[1]

class Block(nn.Module):
    def __init__(self, breaks):
        super().__init__()
        self.fc, self.breaks = nn.Linear(8, 8), breaks
    def forward(self, x):
        x = torch.relu(self.fc(x))
        if self.breaks:
            torch._dynamo.graph_break()
        return x * 2

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(False), Block(True), Block(False)])
        self.head = nn.Sequential(nn.Linear(8, 8), nn.GELU())
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)

def train(model, sizes):
    losses = []
    for size in sizes:
        loss = model(torch.randn(size, 8)).square().mean()
        loss.backward()
        losses.append(loss.item().hex())
    return losses

result = {}
def case(name, model, sizes=(4, 4, 5, 6)):
    torch._dynamo.reset()
    counters.clear()
    result[name] = [train(model, sizes), {key: dict(value) for key, value in counters.items()
                                          if key in ("stats", "frames", "graph_break",
                                                     "unimplemented")}]

case("whole", torch.compile(Net(), backend=backend))
called = Net(); train(called, (4,))
case("called before", torch.compile(called, backend=backend))
inside = Net(); inside.head.compile(backend=backend)
case("in place", inside)
part = Net(); part.blocks[0] = torch.compile(part.blocks[0], backend=backend)
case("part", part)
hooked = Net()
hooked.blocks[0].register_forward_hook(lambda module, args, out: out * 1.5)
hooked.head.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
case("hooks", torch.compile(hooked, backend=backend))
def step(model, x):
    return model(x).square().mean()
plain = Net()
compiled_step = torch.compile(step, backend=backend)
case("function", lambda x: compiled_step(plain, x))
torch._dynamo.reset()
explained = torch._dynamo.explain(Net())(torch.randn(4, 8))
result["explain"] = [explained.graph_count, explained.graph_break_count, explained.op_count,
                     [len(guards) if hasattr(guards, "__len__") else 1
                      for guards in [explained.out_guards]]]
print(json.dumps(result))
"""


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_graphs_breaks_recompiles_losses_and_warnings_are_the_same(tmp_path, backend):
    # Not beside the program: a cache entry named z3 would be imported as the solver.
    quiet = {"TORCH_LOGS": "recompiles,graph_breaks",
             "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache" / "inductor")}
    capture = Capture(tmp_path / "traces")
    plain = run(PROGRAM, None, arguments=[backend], cwd=tmp_path, environment=quiet, timeout=400)
    captured = run(PROGRAM, capture, arguments=[backend], cwd=tmp_path, environment=quiet,
                   timeout=400)
    assert plain.returncode == 0, plain.stderr
    assert captured.returncode == 0, captured.stderr
    expected, found = json.loads(plain.stdout), json.loads(captured.stdout)
    for name in expected:
        assert found[name] == expected[name], name
    assert _reports(captured.stderr) == _reports(plain.stderr)


def _reports(text):
    """The recompile and graph break reports and warnings, without times, pids and stacks."""
    return [line.split("] ", 1)[-1] for line in text.splitlines()
            if "Recompiling" in line or "Graph break" in line or "Warning" in line]
