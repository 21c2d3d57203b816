"""Found by Python's `site` because OpGuard puts this folder in front on PYTHONPATH.

Waits for torch to be imported, then hands over to opguard_shim. Runs in every Python process below
the traced command, so it parses under any Python, imports nothing but sys and os, and does nothing
without OPGUARD_CAPTURE. The sitecustomize that it hides is run afterwards as if this one were
absent.
"""
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class _AfterImport(object):
    """A sys.meta_path finder that runs an action once after a module's first import succeeded.

    The module's own finder and loader stay as they are; only this one exec_module is wrapped.
    """

    def __init__(self, name, done, failed):
        self.name = name
        self.done = done
        self.failed = failed

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            spec = find_spec(fullname, path, target)
            if spec is not None:
                self._wrap(spec.loader)
                return spec
        return None

    def _wrap(self, loader):
        execute = loader.exec_module

        def exec_module(module):
            loader.__dict__.pop("exec_module", None)
            try:
                execute(module)
            except BaseException as error:
                self.failed(error)
                raise
            self.remove()
            self.done()

        try:
            loader.exec_module = exec_module
        except AttributeError as error:
            self.failed(error)

    def remove(self):
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def _ignore(_error):
    pass


def after_import(name, done, failed=_ignore):
    """Runs done() once `name` is imported, at once if it is; failed(error) if an import fails."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is not None and not getattr(spec, "_initializing", False):
        done()
    else:
        sys.meta_path.insert(0, _AfterImport(name, done, failed))


def _shim():
    shim = sys.modules.get("opguard_shim")
    if shim is None:
        from importlib import util

        folder = os.path.join(_FOLDER, "opguard_shim")
        spec = util.spec_from_file_location("opguard_shim", os.path.join(folder, "__init__.py"),
                                            submodule_search_locations=[folder])
        shim = util.module_from_spec(spec)
        sys.modules["opguard_shim"] = shim
        try:
            spec.loader.exec_module(shim)
        except BaseException:
            del sys.modules["opguard_shim"]
            raise
    return shim


def _guarded(action):
    # Whatever goes wrong in OpGuard, the user's import of torch goes on.
    try:
        action()
    except Exception as error:
        sys.stderr.write("opguard: this process is not captured: %s: %s\n"
                         % (type(error).__name__, error))


def _torch_imported():
    _guarded(lambda: _shim().start(after_import))


def _torch_failed(error):
    _guarded(lambda: _shim().torch_failed(error))


def _run_hidden_sitecustomize():
    ours = sys.modules.pop(__name__)
    places = [i for i, entry in enumerate(sys.path) if os.path.abspath(entry or ".") == _FOLDER]
    entries = [(i, sys.path[i]) for i in places]
    for i in reversed(places):
        del sys.path[i]
    try:
        __import__(__name__)
    except ImportError as error:
        missing = getattr(error, "name", None) or str(error).rpartition(" ")[2].strip("'")
        if missing != __name__:
            raise
    finally:
        for i, entry in entries:
            sys.path.insert(i, entry)
        sys.modules.setdefault(__name__, ours)


if os.environ.get("OPGUARD_CAPTURE") and sys.version_info >= (3, 6):
    after_import("torch", _torch_imported, _torch_failed)
if __name__ == "sitecustomize":
    _run_hidden_sitecustomize()
