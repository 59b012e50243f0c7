"""The tables of a recording. docs/recording.md explains every column and promises what stays."""

from __future__ import annotations

APPLICATION_ID = 0x67726C64
"""`grld` in the file's header tells a recording from any other SQLite file."""

VERSION = 1
"""`PRAGMA user_version`. Increased when a table or a column is removed or changes its meaning."""

TABLES: dict[str, tuple[str, ...]] = {
    "run": (
        "script", "argv", "versions", "rank", "world_size", "launch",
        "started_at", "ended_ns", "lost",
    ),
    "places": ("id", "path", "line", "column", "via"),
    "cells": ("id", "name"),
    "cell_sets": ("id", "size"),
    "cell_set_members": ("cell_set", "cell"),
    "facts": ("id", "kind", "place", "payload"),
    "moments": ("number", "ns", "fact"),
    "findings": (
        "id", "rule", "place", "detail", "certainty", "evidence", "cells", "count",
        "first_event", "last_event", "recurring",
    ),
    "series": ("id", "name", "optimizer", "cell"),
    "measures": ("step", "series", "value", "event"),
    "sources": ("path", "text"),
    "remarks": ("topic", "name", "text"),
}  # fmt: skip

# What repeats is written once: `facts` holds each event that ever differed, `moments` when each
# happened. A step then costs some 15 bytes an event, whatever its payload. `measures` is clustered
# by step, not by series, so that a batch appends to one page instead of touching one per series.
CREATE = """
CREATE TABLE run (
    script TEXT NOT NULL, argv TEXT NOT NULL, versions TEXT NOT NULL,
    rank INTEGER NOT NULL, world_size INTEGER NOT NULL, launch TEXT NOT NULL,
    started_at TEXT NOT NULL, ended_ns INTEGER, lost INTEGER NOT NULL
);
CREATE TABLE places (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, line INTEGER NOT NULL, "column" INTEGER NOT NULL,
    via INTEGER REFERENCES places
);
CREATE TABLE cells (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE cell_sets (id INTEGER PRIMARY KEY, size INTEGER NOT NULL);
CREATE TABLE cell_set_members (
    cell_set INTEGER NOT NULL REFERENCES cell_sets, cell INTEGER NOT NULL REFERENCES cells,
    PRIMARY KEY (cell_set, cell)
) WITHOUT ROWID;
CREATE TABLE facts (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, place INTEGER NOT NULL REFERENCES places,
    payload TEXT NOT NULL
);
CREATE TABLE moments (
    number INTEGER PRIMARY KEY, ns INTEGER NOT NULL, fact INTEGER NOT NULL REFERENCES facts
);
CREATE TABLE findings (
    id INTEGER PRIMARY KEY, rule TEXT NOT NULL, place INTEGER NOT NULL REFERENCES places,
    detail TEXT NOT NULL, certainty TEXT NOT NULL, evidence TEXT NOT NULL,
    cells INTEGER NOT NULL REFERENCES cell_sets, count INTEGER NOT NULL,
    first_event INTEGER NOT NULL, last_event INTEGER NOT NULL, recurring INTEGER NOT NULL
);
CREATE TABLE series (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, optimizer TEXT NOT NULL, cell TEXT NOT NULL
);
CREATE TABLE measures (
    step INTEGER NOT NULL, series INTEGER NOT NULL REFERENCES series, value REAL,
    event INTEGER NOT NULL,
    PRIMARY KEY (step, series)
) WITHOUT ROWID;
CREATE TABLE sources (path TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE remarks (
    topic TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (topic, name)
);
CREATE VIEW events AS
    SELECT m.number, m.ns, f.kind, f.place, p.path, p.line, f.payload
    FROM moments AS m JOIN facts AS f ON f.id = m.fact JOIN places AS p ON p.id = f.place;
"""
