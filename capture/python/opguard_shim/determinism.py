"""determinism=on: the switches that make two runs of one program comparable."""
import os
import random
import sys

SEED = 0
# Set before CUDA starts; cuBLAS reads it once.
_CUBLAS = ":4096:8"


def switch_on():
    """Sets the switches and the seeds. The program may still change any of them afterwards."""
    import torch

    os.environ["CUBLAS_WORKSPACE_CONFIG"] = _CUBLAS
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    random.seed(SEED)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(SEED)
    torch.manual_seed(SEED)


def facts():
    """What switch_on() set, as environment facts."""
    return {
        "determinism.deterministic_algorithms": "True",
        "determinism.cudnn_deterministic": "True",
        "determinism.cudnn_benchmark": "False",
        "determinism.tf32": "False",
        "determinism.CUBLAS_WORKSPACE_CONFIG": _CUBLAS,
        "determinism.seed": str(SEED),
        "determinism.PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", ""),
    }
