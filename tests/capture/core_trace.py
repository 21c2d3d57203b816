"""Reads a trace into plain objects, straight from the tables. Used by test_core_*."""
import contextlib
import sqlite3
from collections import namedtuple

from shim_process import Capture, run

Tensor = namedtuple("Tensor", "slot dtype sizes strides layout storage state fingerprint unordered "
                              "statistic")
Op = namedtuple("Op", "id lane step phase name arguments module node forward_op inside parent flags "
                      "functions lines tensors rng")

THREW, RECOMPUTE, INNER_CALL = 1, 2, 4
PHASES = {0: "other", 1: "forward", 2: "backward", 3: "optimizer"}
FINGERPRINTED, TRUSTED, VIEW, UNREADABLE = range(4)


class Trace:
    """All ops of one trace, with names for ids."""

    def __init__(self, path):
        with contextlib.closing(sqlite3.connect(path)) as database:
            self._database = database
            self._names = {table: dict(database.execute("SELECT id, %s FROM %s" % (column, table)))
                           for table, column in (("lane", "name"), ("arguments", "text"),
                                                 ("inside", "text"), ("module", "name"))}
            self.schemas = dict((row[0], row[1:]) for row in database.execute(
                "SELECT id, name, overload, traits FROM schema"))
            self.facts = dict(database.execute("SELECT key, value FROM trace"))
            self.notes = database.execute("SELECT code, text FROM note ORDER BY id").fetchall()
            self.steps = dict(database.execute("SELECT id, first_op FROM step"))
            self.aliases = dict(database.execute("SELECT id, alias_of FROM storage"))
            self.sources = dict((row[0], row[1:]) for row in database.execute(
                "SELECT path, sha256, bytes FROM source"))
            self._frames = dict((row[0], row[1:]) for row in database.execute(
                "SELECT id, path, line, function FROM frame"))
            self._stacks = dict((row[0], row[1:]) for row in database.execute(
                "SELECT id, parent, frame FROM stack"))
            self._nodes = dict((row[0], row[1:]) for row in database.execute(
                "SELECT id, name, forward_op FROM node"))
            self._rng = dict((row[0], row[1:]) for row in database.execute("SELECT * FROM rng"))
            self._tensors = self._read_tensors()
            self.ops = [self._op(row) for row in database.execute(
                "SELECT id, lane, phase, schema, arguments, module, stack, node, inside, parent, "
                "first_tensor, tensors, flags FROM op ORDER BY id")]

    def _read_tensors(self):
        statistics = dict((row[0], row[1:]) for row in self._database.execute(
            "SELECT tensor, nans, infs, zeros, minimum, maximum FROM statistic"))
        rows = self._database.execute(
            "SELECT tensor.id, role || position || CASE WHEN item < 0 THEN '' ELSE '[' || item || "
            "']' END, dtype, sizes, strides, layout, storage, state, fingerprint, unordered FROM "
            "tensor JOIN slot ON slot.id = slot JOIN geometry ON geometry.id = geometry")
        return {row[0]: Tensor(*row[1:], statistics.get(row[0])) for row in rows}

    def _op(self, row):
        (op, lane, phase, schema, arguments, module, stack, node, inside, parent, first, count,
         flags) = row
        name, overload, _ = self.schemas[schema]
        frames = self._stack(stack)
        return Op(op, self._names["lane"][lane],
                  max(step for step, first_op in self.steps.items() if first_op <= op),
                  PHASES[phase], name + ("." + overload if overload else ""),
                  self._text("arguments", arguments), self._text("module", module),
                  self._nodes.get(node, ("", 0))[0], self._nodes.get(node, ("", 0))[1],
                  self._text("inside", inside), parent, flags,
                  [frame[2] for frame in frames], [frame[:2] for frame in frames],
                  {t.slot: t for t in (self._tensors[i] for i in range(first, first + count))},
                  self._rng.get(op))

    def _text(self, table, key):
        return self._names[table][key] if key else ""

    def _stack(self, stack):
        frames = []
        while stack:
            stack, frame = self._stacks[stack]
            frames.append(self._frames[frame])
        return frames

    def inside(self, function):
        """The ops whose Python stack holds a function of that name."""
        return [op for op in self.ops if function in op.functions]

    def one(self, function, name):
        """The only op of that name (without overload) below that function."""
        (op,) = [op for op in self.inside(function) if op.name.split(".")[0] == name]
        return op


def record(code, folder, expect=0, **options):
    """Runs `code` with capture. Returns its finished process and the traces, the rank's first."""
    capture = Capture(folder, **options)
    done = run(code, capture)
    assert done.returncode == expect, done.stderr
    traces = [Trace(path) for path in capture.files()]
    return done, sorted(traces, key=lambda trace: trace.facts["role"] != "rank")
