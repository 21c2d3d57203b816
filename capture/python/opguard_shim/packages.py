"""Versions of the packages that a process imported."""
import os
import re
import sys


def imported():
    """{name: version} of imported packages. Lists folders only; reads no package's metadata."""
    roots = {_normal(name.partition(".")[0]) for name in list(sys.modules)}
    versions = {name: version for name, version in _installed().items() if name in roots}
    for name, module in list(sys.modules.items()):
        version = getattr(module, "__dict__", {}).get("__version__")
        if "." not in name and isinstance(version, str):
            versions.setdefault(_normal(name), version)
    return versions


def _installed():
    """{import name: version} from the *.dist-info folders on sys.path, the first one counts."""
    versions = {}
    for entry in sys.path:
        try:
            folders = [name for name in os.listdir(entry or ".") if name.endswith(".dist-info")]
        except OSError:
            continue
        for folder in folders:
            name, _, version = folder[:-len(".dist-info")].partition("-")
            for top in _top_level(os.path.join(entry, folder)) or [name]:
                versions.setdefault(_normal(top), version)
    return versions


def _top_level(folder):
    try:
        with open(os.path.join(folder, "top_level.txt"), encoding="utf-8") as file:
            return file.read().split()
    except (OSError, UnicodeDecodeError):
        return []


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()
