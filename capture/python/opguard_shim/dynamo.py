"""Keeps torch.compile from noticing the shim's functions. Does not import torch._dynamo."""
import importlib
import sys


def pass_over(function):
    """Dynamo does not compile the function's frame; what it calls is seen as ever."""
    _set_strategy(function.__code__, "SKIP", "DEFAULT")


def leave_alone(function):
    """Dynamo compiles neither the function's frame nor any that it calls."""
    _set_strategy(function.__code__, "SKIP", "SKIP")


def replaced_call_impl(original, wrapper):
    """Dynamo takes a short cut for the _call_impl that it knows, if it was imported before."""
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        module = sys.modules.get(name)
        if getattr(module, "unpatched_nn_module_call_impl", None) is original:
            module.unpatched_nn_module_call_impl = wrapper


def _set_strategy(code, frame, callees):
    eval_frame = importlib.import_module("torch._C._dynamo.eval_frame")
    action = eval_frame._FrameAction
    eval_frame.set_code_exec_strategy(code, eval_frame._FrameExecStrategy(
        getattr(action, frame), getattr(action, callees)))
