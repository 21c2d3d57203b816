"""Finds, loads and declares libopguard_capture (capture/include/opguard/capture/c_api.h)."""
import ctypes
import os
import sys
import threading

from . import VERSION
from .notes import NotCaptured

_OLDEST = (2, 9)

# name: (result, arguments)
_INT, _TEXT, _ID = ctypes.c_int, ctypes.c_char_p, ctypes.c_int64
_FUNCTIONS = {
    "opguard_start": (_INT, (_TEXT,)),
    "opguard_stop": (_INT, ()),
    "opguard_flush": (_INT, ()),
    "opguard_last_error": (_TEXT, ()),
    "opguard_version": (_TEXT, ()),
    "opguard_module": (_ID, (_TEXT, _TEXT)),
    "opguard_module_enter": (None, (_ID,)),
    "opguard_module_exit": (None, ()),
    "opguard_environment": (None, (_TEXT, _TEXT)),
    "opguard_note": (None, (_TEXT, _TEXT)),
    "opguard_suspend": (None, (_TEXT,)),
    "opguard_resume": (None, ()),
}


class Capture:
    """The library's functions for Python. The GIL is held in all of them (PyDLL)."""

    NO_MODULE = _ID(0)

    def __init__(self, path):
        self._library = ctypes.PyDLL(path)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, "_" + name[len("opguard_"):], function)
        self.enter, self.exit = self._module_enter, self._module_exit
        self._thread = threading.local()

    def version(self):
        """(OpGuard's version, version of the torch that the library was built for)."""
        opguard, _, torch = self._version().decode().partition(" ")
        return opguard, torch

    def start(self, config):
        if self._start(os.fsencode(config)) != 0:
            raise NotCaptured("start_failed", self.last_error() or "opguard_start failed")

    def stop(self):
        return self._stop()

    def flush(self):
        return self._flush()

    def last_error(self):
        return (self._last_error() or b"").decode(errors="replace")

    def module(self, name, class_name):
        """The module's id as enter() takes it; a ctypes object saves a conversion each call."""
        return _ID(self._module(_encode(name), _encode(class_name)))

    def environment(self, key, value):
        self._environment(_encode(key), _encode(value))

    def note(self, code, text):
        self._note(_encode(code), _encode(text))

    def suspend(self, reason):
        self._thread.suspended = self.suspended() + 1
        self._suspend(_encode(reason))

    def resume(self):
        self._thread.suspended = self.suspended() - 1
        self._resume()

    def suspended(self):
        """How many suspend() of this thread await their resume()."""
        return getattr(self._thread, "suspended", 0)

    def optional(self, name, result, *arguments):
        """A function that an older library may lack; None then."""
        function = getattr(self._library, name, None)
        if function is not None:
            function.restype, function.argtypes = result, arguments
        return function


def _encode(text):
    return str(text).encode("utf-8", "replace").replace(b"\0", b"?")


def cache_key(torch):
    """The name of the cache folder that holds the library for this torch."""
    if getattr(torch.version, "hip", None):
        raise NotCaptured("unsupported_torch", "torch for ROCm is not supported")
    cuda = getattr(torch.version, "cuda", None)
    return "torch-%s-abi%d-%s-opguard-%s" % (
        torch.__version__, torch.compiled_with_cxx11_abi(),
        "cu" + cuda.replace(".", "") if cuda else "cpu", VERSION)


def load(config):
    """Loads the library for this process's torch. Raises NotCaptured with the reason and fix."""
    import torch

    _check_torch(torch)
    path = config.get("library") or os.path.join(config.get("cache", ""), cache_key(torch),
                                                 "libopguard_capture.so")
    if not os.path.isfile(path):
        raise NotCaptured("no_library", "no capture library for torch %s at %s; build it: "
                          "opguard-mcp build-capture --python %s"
                          % (torch.__version__, path, sys.executable))
    try:
        capture = Capture(path)
    except (OSError, AttributeError) as error:
        raise NotCaptured("load_failed", "%s cannot be loaded: %s" % (path, error)) from error
    built_for = capture.version()[1]
    if built_for.partition("+")[0] != str(torch.__version__).partition("+")[0]:
        raise NotCaptured("wrong_library", "%s was built for torch %s, this process has %s"
                          % (path, built_for, torch.__version__))
    return capture


def _check_torch(torch):
    version = getattr(torch, "__version__", None)
    if version is None or not hasattr(torch, "_C"):
        raise NotCaptured("unsupported_torch", "the module torch at %s is not PyTorch"
                          % getattr(torch, "__file__", "?"))
    numbers = tuple(int(part) for part in str(version).split(".")[:2])
    if numbers < _OLDEST:
        raise NotCaptured("unsupported_torch", "torch %s is older than %d.%d"
                          % ((version,) + _OLDEST))
