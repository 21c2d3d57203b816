"""Found by Python's `site` because OpGuard puts this folder in front on PYTHONPATH.

Runs in every Python process below the traced command: parses under any Python, imports nothing but
sys and os, and does nothing without OPGUARD_CAPTURE. When torch is about to be imported,
opguard_shim/importing.py takes over. The sitecustomize that this one hides is run as if this one
were absent. Kept short, since it is compiled anew where Python may not write its cache.
"""
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class _TorchFinder(object):
    def find_spec(self, fullname, path=None, target=None):
        if fullname == "torch":
            return _importing().find_torch(self, path, target)
        return None


def _importing():
    from importlib import util

    for name, file in ("opguard_shim", "__init__"), ("opguard_shim.importing", "importing"):
        if name not in sys.modules:
            path = os.path.join(_FOLDER, "opguard_shim", file + ".py")
            spec = util.spec_from_file_location(name, path)
            sys.modules[name] = util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
    return sys.modules["opguard_shim.importing"]


def _run_hidden():
    ours = sys.modules.pop(__name__)
    entries = [(i, entry) for i, entry in enumerate(sys.path)
               if os.path.abspath(entry or ".") == _FOLDER]
    for i, _ in reversed(entries):
        del sys.path[i]
    try:
        __import__(__name__)
    except ImportError as error:
        name = getattr(error, "name", None) or str(error).split(" ")[-1].strip("'")
        if name != __name__:
            raise
    finally:
        for i, entry in entries:
            sys.path.insert(i, entry)
        sys.modules.setdefault(__name__, ours)


if os.environ.get("OPGUARD_CAPTURE") and sys.version_info >= (3, 6):
    if "torch" in sys.modules:
        _importing().torch_is_imported()
    else:
        sys.meta_path.insert(0, _TorchFinder())
if __name__ == "sitecustomize":
    _run_hidden()
