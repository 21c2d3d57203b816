"""Tells capture which nn.Module call a thread is in, by wrapping nn.Module._call_impl once."""
import functools
import os
import sys

from . import dynamo
from .module_names import ModuleNames


def wrap_calls(capture, on_first_call):
    """Wraps nn.Module._call_impl. on_first_call() runs before the process's first module call."""
    import torch

    original = torch.nn.Module._call_impl
    names = ModuleNames(capture.module)
    ids, enter, leave = names.ids, capture.enter, capture.exit
    is_compiling = torch.compiler.is_dynamo_compiling  # dynamo takes it as the constant True
    first = [on_first_call]

    def add(module):
        if capture.suspended():
            return capture.NO_MODULE  # a compiler's own modules
        try:
            if first:
                first.pop()()
            calls = _calls_around(wrapper.__code__)
            enclosing = calls[1] if len(calls) > 1 else None
            return names.add(module, enclosing, calls[-1])
        except Exception as error:  # pylint: disable=broad-except
            # A class with hooks of its own into attribute access; its calls go unnamed.
            capture.note("module_name", "%s: %s: %s" % (type(module).__name__,
                                                        type(error).__name__, error))
            return capture.NO_MODULE

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

    dynamo.pass_over(wrapper)
    dynamo.leave_alone(add)
    dynamo.leave_alone(ModuleNames.forget)
    torch.nn.Module._call_impl = wrapper
    dynamo.replaced_call_impl(original, wrapper)
    os.register_at_fork(after_in_child=names.forget_ids)


def _calls_around(code):
    """The modules whose calls this thread is in, innermost first."""
    calls, frame = [], sys._getframe(1)
    while frame is not None:
        if frame.f_code is code:
            calls.append(frame.f_locals["self"])
        frame = frame.f_back
    return calls
