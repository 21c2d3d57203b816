"""Runs training programs with and without capture and reads their traces. Used by test_shim_*,
test_unchanged_*."""
import contextlib
import functools
import glob
import os
import sqlite3
import subprocess
import sys
import textwrap
from urllib.parse import quote

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHIM = os.path.join(ROOT, "capture", "python")

TRAIN = """
import torch, torch.nn as nn
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    optimizer.zero_grad()
    loss = model(torch.randn(5, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss
"""


@functools.lru_cache
def library():
    """The capture library for this interpreter's torch: OPGUARD_CAPTURE_LIBRARY, or what the server
    OPGUARD_MCP has for it, or the newest of a build."""
    given = os.environ.get("OPGUARD_CAPTURE_LIBRARY")
    if given:
        return given
    server = os.environ.get("OPGUARD_MCP")
    if server:
        command = [server, "build-capture", "--python", sys.executable]
        return subprocess.check_output(command, encoding="utf-8").strip()
    found = glob.glob(os.path.join(ROOT, "build", "*", "**", "libopguard_capture.so"),
                      recursive=True)
    assert found, "no libopguard_capture.so: build it or set OPGUARD_CAPTURE_LIBRARY"
    return max(found, key=os.path.getmtime)


class Capture:
    """One folder of traces and the environment that captures into it."""

    def __init__(self, folder, **options):
        self.folder = str(folder)
        os.makedirs(self.folder, exist_ok=True)
        options.setdefault("library", library())
        options["dir"] = self.folder
        self.config = ";".join("%s=%s" % (key, quote(value, safe="/:,"))
                               for key, value in options.items() if value is not None)

    def environment(self):
        return {"OPGUARD_CAPTURE": self.config, "PYTHONPATH": SHIM}

    def files(self):
        return sorted(glob.glob(os.path.join(glob.escape(self.folder), "*.opguard")))

    def notes(self):
        """Codes and texts of the note files, as (code, text)."""
        lines = []
        for path in sorted(glob.glob(os.path.join(glob.escape(self.folder), "note-*.txt"))):
            with open(path, encoding="utf-8") as file:
                lines += [tuple(line.rstrip("\n").split("\t", 1)) for line in file]
        return lines

    def query(self, sql, path=None):
        """Rows of the only trace, or of `path`."""
        if path is None:
            (path,) = self.files()
        with contextlib.closing(sqlite3.connect(path)) as database:
            return database.execute(sql).fetchall()

    def facts(self, path=None):
        return dict(self.query("SELECT key, value FROM trace", path))

    def environment_facts(self, path=None):
        return dict(self.query("SELECT key, value FROM environment", path))


def run(code, capture=None, python=sys.executable, options=(), arguments=(), timeout=120, cwd=None,
        environment=()):
    """Runs `code` from a file, so that it is an ordinary __main__."""
    folder = capture.folder if capture is not None else None
    path = os.path.join(str(cwd or folder), "program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(code))
    return run_command([python, *options, path, *arguments], capture, timeout, cwd, environment)


def run_command(command, capture=None, timeout=120, cwd=None, environment=()):
    variables = {key: value for key, value in os.environ.items()
                 if key not in ("OPGUARD_CAPTURE", "PYTHONPATH")}
    variables["OMP_NUM_THREADS"] = "1"
    if capture is not None:
        variables.update(capture.environment())
    variables.update(environment)
    return subprocess.run(command, env=variables, cwd=cwd, timeout=timeout, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
