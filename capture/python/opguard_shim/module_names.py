"""Names of nn.Modules: those of named_modules() of the outermost module that was called.

The outermost module itself is named by its class. A second live model's names get its class name
in front, so that "layers.0" is never two things. Modules are not touched: what is known of them
lies in tables by id(), and a weak reference drops an entry before its id can be used again.
"""
import functools
import weakref

# Where a wrapper keeps the module that it stands for. Left out of names, so that a compiled or
# wrapped model names its modules as the plain one does.
_WRAPPED_IN = ("_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module")
_PARALLEL = ("DataParallel", "DistributedDataParallel")


class ModuleNames:
    """`ids` holds the trace's module id by id(module); add() fills it."""

    def __init__(self, intern):
        self._intern = intern  # (name, class) -> the trace's id
        self.ids = {}
        self._references = {}
        self._names = {}
        self._bases = {}  # what stands before a child's key: "", "blocks.0."
        self._roots = {}  # id -> None, for modules whose tree was walked as the outermost
        self._outsiders = {}  # id of an outermost module -> classes that it calls but does not hold

    def forget_ids(self):
        """For a forked child, whose trace knows no module yet."""
        self.ids.clear()

    def add(self, module, enclosing, outermost):
        """Gives `module` its id, the first time it is called; returns the id."""
        if outermost is module or not self._add_below(module, enclosing, outermost):
            self._add_tree(outermost)
        if id(module) not in self.ids:
            self._outsiders.setdefault(id(outermost), set()).add(type(module))
            self._add_outsider(module, enclosing)
        return self.ids[id(module)]

    def _add_below(self, module, enclosing, outermost):
        """True if no walk over the whole model is needed to name the module."""
        if id(enclosing) not in self._bases:
            return False
        path = _path(enclosing, module)
        if path is not None:
            base = self._bases[id(enclosing)] + path
            self._set(module, base, base + ".")
        elif type(module) in self._outsiders.get(id(outermost), ()):
            self._add_outsider(module, enclosing)
        else:
            return False
        return True

    def _add_outsider(self, module, enclosing):
        name = "%s<%s>" % (self._bases.get(id(enclosing), ""), type(module).__name__)
        self._set(module, name, name + ".")

    def _add_tree(self, root):
        known = id(root) if id(root) in self._names else id(_unwrapped(root))
        name, base = self._names.get(known), self._bases.get(known)
        entries = list(_walk(root, "", ""))
        if name is None:
            inside = {id(module) for module, _, _ in entries}
            for old in [key for key in self._roots if key in inside]:
                del self._roots[old]
            name, base = self._root_name(root, has_children=len(entries) > 1)
        for module, path, below in entries:
            self._set(module, base + path if path else name, base + below)

    def _root_name(self, root, has_children):
        name = type(_unwrapped(root)).__name__
        if not has_children:
            return name, name + "."
        taken = {self._names[key] for key in self._roots}
        label, count = name, 1
        while label in taken:
            count += 1
            label = "%s#%d" % (name, count)
        self._roots[id(root)] = None
        return label, label + "." if taken else ""

    def _set(self, module, name, base):
        key = id(module)
        if key not in self._references:
            self._references[key] = weakref.ref(module, functools.partial(self.forget, key))
        self._names[key], self._bases[key] = name, base
        self.ids[key] = self._intern(name, type(module).__name__)

    def forget(self, key, _reference):
        """Called when a module dies."""
        for table in (self.ids, self._references, self._names, self._bases, self._roots,
                      self._outsiders):
            table.pop(key, None)


def _children(module):
    return list((getattr(module, "_modules", None) or {}).items())


def _stands_for(module, key):
    return key in _WRAPPED_IN or (key == "module" and type(module).__name__ in _PARALLEL)


def _unwrapped(module):
    for key, child in _children(module):
        if child is not None and _stands_for(module, key):
            return _unwrapped(child)
    return module


def _walk(root, path, below):
    """(module, path, path of its children up to the key) in the order of named_modules()."""
    seen, waiting = set(), [(root, path, below)]
    while waiting:
        module, path, below = waiting.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield module, path, below
        for key, child in reversed(_children(module)):
            if child is None:
                continue
            if _stands_for(module, key):
                waiting.append((child, path, below))
            else:
                waiting.append((child, below + key, below + key + "."))


def _path(parent, module):
    """The path of a child of `parent`, or of one in a container that `parent` holds."""
    for key, child in _children(parent):
        if child is module:
            return key
        if type(child).__name__ in ("ModuleList", "ModuleDict", "Sequential"):
            for inner_key, inner in _children(child):
                if inner is module:
                    return key + "." + inner_key
    return None
