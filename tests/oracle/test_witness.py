"""The traces of both sides of each pair against an independent witness: which tensors are equal and
which differ, within a run and between the runs."""
import collections
import difflib
import json
import os
import sys

import pytest
from core_trace import Trace
from shim_process import ROOT, Capture, run_command

HERE = os.path.dirname(os.path.abspath(__file__))
GPT = os.path.join(HERE, "small_gpt.py")

# What a dispatch mode changes by being there: reshape runs view, gradients are accumulated out of
# place, and the copy of a tensor that autograd saves becomes a call of detach. The profiler's calls
# have no tensors and are not recorded.
VIEWS_OF_THE_WITNESS = {"aten::view", "aten::detach"}
CHANGED_BY_THE_WITNESS = VIEWS_OF_THE_WITNESS | {
    "aten::add.Tensor", "profiler._record_function_enter_new",
    "profiler._record_function_exit._RecordFunction"}
# Their input may be uninitialised memory, which differs between the two processes.
OVERWRITE = {"aten::fill_.Scalar", "aten::zero_", "aten::copy_", "aten::bernoulli_.float",
             "aten::random_.from", "aten::random_", "aten::uniform_", "aten::normal_"}


def sides():
    """(pair, side, script, arguments) of the small GPT and of all bundled pairs."""
    yield "small_gpt", "a", GPT, []
    yield "small_gpt", "b", GPT, ["--learning-rate", "0.02"]
    examples = os.path.join(ROOT, "examples")
    for name in sorted(os.listdir(examples)):
        path = os.path.join(examples, name, "expected.json")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            request = json.load(file)["request"]
        _, script = request["command"].split()
        for side in "ab":
            yield (name, side, os.path.join(examples, name, script),
                   request.get("args_" + side, []))


PAIRS = sorted({name for name, _, _, _ in sides()})


def observe(script, arguments, folder):
    """(the witness's calls, the trace) of a script that prints the same under both."""
    folder.mkdir()
    command = [script, *arguments]
    output = str(folder / "calls.json")
    witness = run_command([sys.executable, os.path.join(HERE, "witness.py"), output, *command],
                          cwd=folder)
    assert witness.returncode == 0, witness.stderr
    capture = Capture(folder / "traces", level="inner")
    captured = run_command([sys.executable, *command], capture, cwd=folder)
    assert (captured.returncode, captured.stdout) == (0, witness.stdout), captured.stderr
    with open(output, encoding="utf-8") as file:
        return json.load(file), Trace(capture.files()[0])


@pytest.fixture(scope="module", params=PAIRS)
def observed(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return [observe(script, arguments, folder / side)
            for name, side, script, arguments in sides() if name == request.param]


def reads(op, role):
    return [t for slot, t in op.tensors.items() if slot.startswith(role)]


def keys(calls, ops):
    """What a call and an op have in common: the operator and its inputs' dtypes and shapes."""
    seen = [(name, str([(x[0], x[1]) for x in given])) for name, given, _ in calls]
    recorded = [(op.name, str([(t.dtype, json.loads(t.sizes)) for t in reads(op, "in")]))
                for op in ops]
    return seen, recorded


def matched(calls, ops):
    """Calls and the ops that recorded them, in order. Without what only one of the two can see the
    sequences are so alike that no call is taken for another."""
    names = {call[0] for call in calls} - VIEWS_OF_THE_WITNESS
    calls = [call for call in calls if call[0] in names]
    by_id = {op.id: op for op in ops}
    below = set()  # the witness does not see inside a kernel
    for op in ops:
        if op.parent in below or (op.parent and by_id[op.parent].name in names):
            below.add(op.id)
    ops = [op for op in ops if op.name in names and op.id not in below]
    blocks = difflib.SequenceMatcher(None, *keys(calls, ops), autojunk=False).get_matching_blocks()
    return [(calls[a + i], ops[b + i]) for a, b, size in blocks for i in range(size)]


def test_every_call_that_the_witness_saw_is_recorded(observed):
    for calls, trace in observed:
        seen, recorded = map(collections.Counter, keys(calls, trace.ops))
        assert sum(seen.values()) > 300
        assert {name for name, _ in seen - recorded} <= CHANGED_BY_THE_WITNESS


def test_fingerprints_are_equal_where_bytes_are_equal_and_nowhere_else(observed):
    by_bytes, by_fingerprint, compared = {}, {}, 0
    for calls, trace in observed:
        unwritten = set()  # storages that hold what the allocator found there
        for call, op in matched(calls, trace.ops):
            pairs = list(zip(call[1], reads(op, "in"))) if call[0] not in OVERWRITE else []
            pairs = [(x, t) for x, t in pairs if t.storage not in unwritten]
            unwritten -= {t.storage for t in reads(op, "mut")}
            if "empty" in op.name:
                unwritten |= {t.storage for t in reads(op, "out")}
            elif len(reads(op, "out")) == len(call[2]):
                pairs += [(x, t) for x, t in zip(call[2], reads(op, "out"))
                          if t.storage not in unwritten]
            for (dtype, shape, sha1), tensor in pairs:
                if tensor.fingerprint is None:
                    continue
                seen = (dtype, tuple(shape), sha1)
                kept = (tensor.dtype, tensor.sizes, tensor.fingerprint)
                assert by_bytes.setdefault(seen, kept) == kept, (op.name, op.id)
                assert by_fingerprint.setdefault(kept, seen) == seen, (op.name, op.id)
                compared += 1
    assert compared > 1000 and len(by_bytes) > 250


def test_the_two_sides_differ(observed):
    """Otherwise nothing above tells equal from different between the runs."""
    (calls_a, _), (calls_b, _) = observed
    in_a, in_b = ({x[2] for _, _, made in calls for x in made} for calls in (calls_a, calls_b))
    assert in_a & in_b and in_a - in_b and in_b - in_a
