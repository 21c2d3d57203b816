"""Environment facts of a trace: what a difference between two runs may come from."""
import glob
import hashlib
import json
import os
import platform
import random
import sys

from . import determinism, masking, packages, revision

_PREFIXES = ("CUDA", "CUDNN", "CUBLAS", "NCCL", "NVTE", "NVIDIA", "OMP_", "KMP_", "GOMP_", "MKL_",
             "OPENBLAS", "ONEDNN", "DNNL", "TORCH", "PYTORCH", "TRITON", "GLOO", "DS_",
             "ACCELERATE_", "ATEN_", "MALLOC_")
_NAMES = ("PYTHONHASHSEED", "PYTHONPATH", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
          "GROUP_RANK", "LD_PRELOAD", "LD_LIBRARY_PATH")
# Differ between any two runs and change nothing.
_IDLE = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE")


class Environment:
    """Writes the facts at the process's start, before its first module call, and at its end."""

    def __init__(self, capture, config):
        self._capture = capture
        self._config = config

    def record_start(self):
        self._write(_process_facts, _variable_facts, _build_facts, _commit_facts)
        if self._config.get("determinism") == "on":
            self._write(determinism.facts)

    def record_training(self):
        """What the program has set up by the time that it trains."""
        self._write(_setting_facts, _seed_facts)

    def record_end(self):
        pattern = os.path.join(glob.escape(self._config.get("dir", "")),
                               "*-%d.opguard" % os.getpid())
        if glob.glob(pattern):
            self._write(_package_facts, _diff_facts)

    def _write(self, *sources):
        for source in sources:
            try:
                facts = source()
            except Exception as error:  # pylint: disable=broad-except
                facts = {source.__name__.strip("_"): "%s: %s" % (type(error).__name__, error)}
            for key, value in facts.items():
                self._capture.environment(key, value)


def _process_facts():
    return {
        "argv": json.dumps(masking.arguments(sys.argv)),
        "cwd": os.getcwd(),
        "python.version": platform.python_version(),
        "python.executable": sys.executable or "",
        "python.flags": json.dumps(sys.warnoptions + ["-O"] * sys.flags.optimize),
        "platform": platform.platform(),
        "cpu.count": os.cpu_count(),
    }


def _variable_facts():
    variables = {name: _without_us(name, value) for name, value in os.environ.items()
                 if (name.startswith(_PREFIXES) or name in _NAMES) and name not in _IDLE}
    return {"env." + name: masking.variable(name, value)
            for name, value in sorted(variables.items()) if value is not None}


def _without_us(name, value):
    if name != "PYTHONPATH":
        return value
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return os.pathsep.join(part for part in value.split(os.pathsep) if part != ours) or None


def _build_facts():
    import torch

    return {
        "torch.version": torch.__version__,
        "torch.git": getattr(torch.version, "git_version", ""),
        "torch.cuda": torch.version.cuda or "",
        "torch.config": torch.__config__.show(),
        "torch.cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }


def _commit_facts():
    return {"git.commit": revision.commit(os.getcwd())}


def _setting_facts():
    import torch

    return {
        "torch.num_threads": torch.get_num_threads(),
        "torch.num_interop_threads": torch.get_num_interop_threads(),
        "torch.default_dtype": torch.get_default_dtype(),
        "torch.deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "torch.deterministic_warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "torch.fill_uninitialized_memory": torch.utils.deterministic.fill_uninitialized_memory,
        "torch.cudnn.enabled": torch.backends.cudnn.enabled,
        "torch.cudnn.benchmark": torch.backends.cudnn.benchmark,
        "torch.cudnn.deterministic": torch.backends.cudnn.deterministic,
        "torch.cudnn.allow_tf32": torch._C._get_cudnn_allow_tf32(),
        "torch.matmul.allow_tf32": torch._C._get_cublas_allow_tf32(),
        "torch.mkldnn.enabled": torch._C._get_mkldnn_enabled(),
    }


def _seed_facts():
    import torch

    facts = {"seed.torch": torch.initial_seed(), "seed.python.state": _digest(random.getstate())}
    if "numpy" in sys.modules:
        state = sys.modules["numpy"].random.get_state()
        facts["seed.numpy.state"] = _digest([getattr(part, "tolist", lambda: part)()
                                             for part in state])
    return facts


def _digest(state):
    return hashlib.sha256(repr(state).encode()).hexdigest()[:16]


def _package_facts():
    return {"package." + name: version for name, version in sorted(packages.imported().items())}


def _diff_facts():
    return {"git.diff_sha256": revision.dirty_digest(os.getcwd())}
