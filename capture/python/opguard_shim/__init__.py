"""Starts capture inside a process that imported torch. Loaded by ../sitecustomize.py.

Nothing here changes what the user's program computes; whatever fails is written to a note in the
trace folder and the program goes on without capture.
"""
import os

VERSION = "0.1.0"

_state = {"pid": None}


def start(after_import):
    """Starts capture for this process. `after_import(name, done)` runs done() after an import."""
    from . import configuration, notes

    config = configuration.parse(os.environ.get("OPGUARD_CAPTURE", ""))
    try:
        _start(config, after_import)
    except notes.NotCaptured as error:
        notes.write(config, error.code, error.text)
    except Exception as error:  # pylint: disable=broad-except
        notes.write(config, "shim_error", "%s: %s" % (type(error).__name__, error))


def torch_failed(error):
    """Notes that the process could not import torch, so nothing of it is captured."""
    from . import configuration, notes

    config = configuration.parse(os.environ.get("OPGUARD_CAPTURE", ""))
    notes.write(config, "torch_import_failed", "%s: %s" % (type(error).__name__, error),
                quiet=True)


def _start(config, after_import):
    if _state["pid"] is not None:
        return
    _state["pid"] = os.getpid()

    from . import determinism, library

    if config.get("determinism") == "on":
        determinism.switch_on()
    capture = library.load(config)
    capture.start(os.environ["OPGUARD_CAPTURE"])
    try:
        _instrument(config, capture, after_import)
    except BaseException:
        capture.stop()
        raise


def _instrument(config, capture, after_import):
    from . import compiling, ending, environment, modules

    facts = environment.Environment(capture, config)
    facts.record_start()
    modules.wrap_calls(capture, on_first_call=facts.record_training)
    after_import("torch._dynamo.callback",
                 lambda: _noted(capture, compiling.suspend_while_compiling))
    end = ending.Ending(capture, facts)
    if config.get("stop_after_steps") == "1":
        end.stop_after_window()


def _noted(capture, action):
    # Runs inside an import of the user's: a failure belongs into the trace, not into that import.
    try:
        action(capture)
    except Exception as error:  # pylint: disable=broad-except
        capture.note("shim_error", "%s: %s" % (type(error).__name__, error))
