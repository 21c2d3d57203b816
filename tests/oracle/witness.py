"""Runs a training script under a TorchDispatchMode that hashes bytes with SHA-1.

    python witness.py OUTPUT SCRIPT [ARGUMENT ...]

An independent witness of what OpGuard records: it shares no code with it and runs in a process
without capture. Writes one JSON list per run: [operator, tensors before, tensors returned] of every
call that reached the dispatcher below autograd, each tensor as [dtype, shape, SHA-1].
"""
import hashlib
import json
import os
import runpy
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def digest(tensor):
    data = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return [str(tensor.dtype)[6:], list(tensor.shape), hashlib.sha1(data).hexdigest()]


def digests(values):
    return [digest(leaf) for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


class Witness(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        before = digests((args, kwargs or {}))
        result = func(*args, **(kwargs or {}))
        name = str(func).replace("aten.", "aten::").replace(".default", "")
        self.calls.append([name, before, digests(result)])
        return result


def main():
    output, script = sys.argv[1:3]
    del sys.argv[:2]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    with Witness() as witness:
        runpy.run_path(script, run_name="__main__")
    with open(output, "w", encoding="utf-8") as file:
        json.dump(witness.calls, file)


if __name__ == "__main__":
    main()
