"""Stops recording while torch.compile traces and compiles.

What runs then (fake tensors, constant folding, benchmarks) depends on what the compile caches
hold, so two equal runs would differ in it.
"""
import contextlib
import functools
import sys


def suspend_while_compiling(capture):
    """Wraps dynamo's own bracket around a compilation. Call once torch._dynamo.callback exists."""
    callback = sys.modules["torch._dynamo.callback"]
    handler = callback.CompilationCallbackHandler
    original = handler.install_callbacks
    # Recording a CUDA graph runs the user's kernels: those stay in the trace.
    recording = getattr(callback.CallbackTrigger, "CUDAGRAPH_RECORDING", None)

    @functools.wraps(original)
    @contextlib.contextmanager
    def install_callbacks(self, trigger, *args, **kwargs):
        if trigger is recording:
            with original(self, trigger, *args, **kwargs):
                yield
            return
        capture.suspend("compile")
        try:
            with original(self, trigger, *args, **kwargs):
                yield
        finally:
            capture.resume()

    handler.install_callbacks = install_callbacks
