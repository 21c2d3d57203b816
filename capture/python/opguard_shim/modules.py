"""Tells capture which nn.Module call a thread is in, by wrapping nn.Module._call_impl once."""
import functools
import os
import sys

from .module_names import ModuleNames


def wrap_calls(capture, on_first_call):
    """Wraps nn.Module._call_impl. on_first_call() runs before the process's first module call."""
    import torch

    original = torch.nn.Module._call_impl
    names = ModuleNames(capture.module)
    ids, enter, leave = names.ids, capture.enter, capture.exit
    is_compiling = torch.compiler.is_compiling
    first = [on_first_call]

    def add(module):
        if capture.suspended():
            return 0  # a compiler's own modules
        if first:
            first.pop()()
        calls = _calls_around(wrapper.__code__)
        enclosing = calls[1] if len(calls) > 1 else None
        return names.add(module, enclosing, calls[-1])

    @functools.wraps(original)
    def wrapper(self, *args, **kwargs):
        if is_compiling():
            return original(self, *args, **kwargs)
        module = ids.get(id(self))
        if module is None:
            module = add(self)
        enter(module)
        try:
            return original(self, *args, **kwargs)
        finally:
            leave()

    _hide_from_dynamo(wrapper.__code__)
    torch.nn.Module._call_impl = wrapper
    _tell_dynamo(original, wrapper)
    os.register_at_fork(after_in_child=names.forget_ids)


def _calls_around(code):
    """The modules whose calls this thread is in, innermost first."""
    calls, frame = [], sys._getframe(1)
    while frame is not None:
        if frame.f_code is code:
            calls.append(frame.f_locals["self"])
        frame = frame.f_back
    return calls


def _hide_from_dynamo(code):
    """Lets torch.compile pass over the wrapper's frame as it does over all of torch.nn."""
    eval_frame = __import__("torch._C._dynamo.eval_frame", fromlist=["eval_frame"])
    if hasattr(eval_frame, "set_code_exec_strategy"):
        action = eval_frame._FrameAction
        eval_frame.set_code_exec_strategy(
            code, eval_frame._FrameExecStrategy(action.SKIP, action.DEFAULT))
    else:
        eval_frame.skip_code(code)


def _tell_dynamo(original, wrapper):
    """Dynamo keeps its own reference to the unpatched _call_impl, if it was imported before."""
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        module = sys.modules.get(name)
        if module is not None and getattr(module, "unpatched_nn_module_call_impl",
                                          None) is original:
            module.unpatched_nn_module_call_impl = wrapper
