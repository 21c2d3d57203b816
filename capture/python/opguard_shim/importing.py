"""Runs an action once a module has been imported.

The module's own finder, loader and spec stay as they are: only the one call of exec_module is
wrapped, by an attribute of the loader object that is gone before the module's code runs.
"""
import sys


class AfterImport(object):
    """A sys.meta_path finder for one module; removes itself after the first import that worked."""

    def __init__(self, name, done, failed=None):
        self.name = name
        self.done = done
        self.failed = failed or (lambda error: None)

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        return self.find(self, path, target)

    def find(self, finder_in_path, path, target):
        """The spec that the finders other than `finder_in_path` give, its loader wrapped."""
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            if finder is finder_in_path or find_spec is None:
                continue
            spec = find_spec(self.name, path, target)
            if spec is not None:
                self._wrap(spec.loader, finder_in_path)
                return spec
        return None

    def _wrap(self, loader, finder_in_path):
        execute = getattr(loader, "exec_module", None)

        def exec_module(module):
            loader.__dict__.pop("exec_module", None)
            try:
                execute(module)
            except BaseException as error:
                self.failed(error)
                raise
            if finder_in_path in sys.meta_path:
                sys.meta_path.remove(finder_in_path)
            self.done()

        try:
            loader.exec_module = exec_module
        except AttributeError as error:
            self.failed(error)


def after_import(name, done):
    """Runs done() once `name` is imported; at once if it is."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is not None and not getattr(spec, "_initializing", False):
        done()
    else:
        sys.meta_path.insert(0, AfterImport(name, done))


def find_torch(finder, path, target):
    """torch's spec, for the finder that sitecustomize installed."""
    return AfterImport("torch", torch_is_imported, _torch_failed).find(finder, path, target)


def torch_is_imported():
    """Starts capture. Whatever goes wrong in it, the program's import of torch goes on."""
    _guarded(lambda: sys.modules["opguard_shim"].start(after_import))


def _torch_failed(error):
    _guarded(lambda: sys.modules["opguard_shim"].torch_failed(error))


def _guarded(action):
    try:
        action()
    except Exception as error:  # pylint: disable=broad-except
        sys.stderr.write("opguard: this process is not captured: %s: %s\n"
                         % (type(error).__name__, error))
