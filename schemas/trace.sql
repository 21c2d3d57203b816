-- OpGuard trace database, format 1. One file per rank process. Reasons: trace.md.
-- Every id is assigned in order of first use, from 1; 0 means "none".
PRAGMA application_id = 0x4F504744;  -- 'OPGD'
PRAGMA user_version = 1;

-- Facts about the trace as a whole: status, mode, rank, counts (keys: trace.md, "trace").
CREATE TABLE trace(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE environment(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;

-- Interned facts, each written once.
CREATE TABLE lane(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE schema(id INTEGER PRIMARY KEY, name TEXT NOT NULL, overload TEXT NOT NULL,
                    signature TEXT NOT NULL, traits INTEGER NOT NULL);
CREATE TABLE arguments(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE inside(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE slot(id INTEGER PRIMARY KEY, role TEXT NOT NULL, position INTEGER NOT NULL,
                  item INTEGER NOT NULL);
CREATE TABLE geometry(id INTEGER PRIMARY KEY, dtype TEXT NOT NULL, device TEXT NOT NULL,
                      sizes TEXT NOT NULL, strides TEXT NOT NULL, storage_offset INTEGER NOT NULL,
                      layout TEXT NOT NULL);
CREATE TABLE module(id INTEGER PRIMARY KEY, name TEXT NOT NULL, class TEXT NOT NULL);
CREATE TABLE source(id INTEGER PRIMARY KEY, path TEXT NOT NULL, sha256 TEXT NOT NULL,
                    bytes INTEGER NOT NULL, text_zstd BLOB);
CREATE TABLE frame(id INTEGER PRIMARY KEY, path TEXT NOT NULL, line INTEGER NOT NULL,
                   function TEXT NOT NULL, source INTEGER NOT NULL);
CREATE TABLE stack(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, frame INTEGER NOT NULL);

-- One row an event.
CREATE TABLE step(id INTEGER PRIMARY KEY, first_op INTEGER NOT NULL);
CREATE TABLE node(id INTEGER PRIMARY KEY, name TEXT NOT NULL, forward_op INTEGER NOT NULL);
CREATE TABLE storage(id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, first_op INTEGER NOT NULL,
                     alias_of INTEGER NOT NULL);
CREATE TABLE op(id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, phase INTEGER NOT NULL,
                schema INTEGER NOT NULL, arguments INTEGER NOT NULL, module INTEGER NOT NULL,
                stack INTEGER NOT NULL, node INTEGER NOT NULL, inside INTEGER NOT NULL,
                parent INTEGER NOT NULL, first_tensor INTEGER NOT NULL,
                tensors INTEGER NOT NULL, flags INTEGER NOT NULL);
CREATE TABLE tensor(id INTEGER PRIMARY KEY, op INTEGER NOT NULL, slot INTEGER NOT NULL,
                    geometry INTEGER NOT NULL, storage INTEGER NOT NULL, state INTEGER NOT NULL,
                    fingerprint INTEGER, unordered INTEGER);
CREATE TABLE statistic(tensor INTEGER PRIMARY KEY, nans INTEGER NOT NULL, infs INTEGER NOT NULL,
                       zeros INTEGER NOT NULL, minimum REAL, maximum REAL);
CREATE TABLE rng(op INTEGER PRIMARY KEY, generator TEXT NOT NULL, seed INTEGER NOT NULL,
                 state_before INTEGER NOT NULL, state_after INTEGER NOT NULL);
CREATE TABLE gap(id INTEGER PRIMARY KEY, first_step INTEGER NOT NULL, last_step INTEGER NOT NULL,
                 reason TEXT NOT NULL);
CREATE TABLE note(id INTEGER PRIMARY KEY, op INTEGER NOT NULL, code TEXT NOT NULL,
                  text TEXT NOT NULL);

-- The same facts with names instead of ids, for a person at the sqlite3 prompt.
CREATE VIEW ops AS
  SELECT op.id, lane.name AS lane,
         (SELECT max(step.id) FROM step WHERE step.first_op <= op.id) AS step,
         CASE op.phase WHEN 1 THEN 'forward' WHEN 2 THEN 'backward' WHEN 3 THEN 'optimizer'
                       ELSE 'other' END AS phase,
         schema.name || CASE schema.overload WHEN '' THEN '' ELSE '.' || schema.overload END AS name,
         coalesce(module.name, '') AS module, coalesce(arguments.text, '') AS arguments,
         coalesce(frame.path || ':' || frame.line, '') AS at, op.flags
  FROM op JOIN lane ON lane.id = op.lane JOIN schema ON schema.id = op.schema
  LEFT JOIN module ON module.id = op.module LEFT JOIN arguments ON arguments.id = op.arguments
  LEFT JOIN stack ON stack.id = op.stack LEFT JOIN frame ON frame.id = stack.frame;
CREATE VIEW tensors AS
  SELECT op.id AS op, tensor.id, slot.role || slot.position ||
         CASE WHEN slot.item < 0 THEN '' ELSE '[' || slot.item || ']' END AS slot,
         geometry.dtype, geometry.sizes, geometry.strides, tensor.storage,
         printf('%016x', tensor.fingerprint) AS fingerprint,
         printf('%016x', tensor.unordered) AS unordered, tensor.state
  FROM op JOIN tensor ON tensor.id >= op.first_tensor AND tensor.id < op.first_tensor + op.tensors
  JOIN slot ON slot.id = tensor.slot JOIN geometry ON geometry.id = tensor.geometry;
