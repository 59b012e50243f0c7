"""Writes batches to the file: each completely, or not at all."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from gradledger.ledger.events import Event
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.recording.encoding import encode_evidence
from gradledger.recording.interning import Interning
from gradledger.recording.run import RunInfo
from gradledger.recording.schema import APPLICATION_ID, CREATE, TABLES, VERSION
from gradledger.recording.text import to_sql

T = TypeVar("T")

VARIABLES = 900
"""In one statement; older SQLites allow 999."""

NotedFinding = tuple[Finding, int, int]
"""With the numbers of the events at which it was seen first and last."""


@dataclass(slots=True)
class Batch:
    """Everything that was recorded since the last batch."""

    events: list[tuple[int, int, Event]] = field(default_factory=list)
    """Number, monotonic nanoseconds, event."""
    measures: list[tuple[str, str, str, int, float, int]] = field(default_factory=list)
    """Name, optimizer, cell, step, value, number of the event before it."""
    findings: dict[tuple[str, Place], NotedFinding] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    remarks: dict[tuple[str, str], str] = field(default_factory=dict)
    """By topic and name."""

    def __len__(self) -> int:
        many = len(self.events) + len(self.measures)
        return many + len(self.findings) + len(self.sources) + len(self.remarks)


class Store:
    """Creates the file's tables, and adds batches to them. Moments count from `started`."""

    def __init__(self, path: Path, run: RunInfo, started: int) -> None:
        # mode=rw: a file that has been deleted is not created again.
        uri = path.as_uri() + "?mode=rw"
        self._connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5.0)
        self._interning = Interning()
        self._finding_ids: dict[tuple[str, Place], int] = {}
        self._started = started
        self._lost = 0
        try:
            self._create(run)
        except BaseException:
            self._connection.close()
            raise

    def write(self, batch: Batch, lost: int) -> int:
        """Add all of a batch. Returns how many things in it no recording can hold."""
        rows: dict[str, list[tuple[Any, ...]]] = {
            "moments": fitting(self._moment, batch.events),
            "measures": fitting(self._measure, batch.measures),
            "findings": fitting(self._finding, batch.findings.items()),
            "sources": fitting(self._source, batch.sources.items()),
            "remarks": fitting(self._remark, batch.remarks.items()),
        }
        unfit = len(batch) - sum(map(len, rows.values()))
        with self._transaction():
            for table, new in (self._interning.new | rows).items():
                self._insert(table, new)
            if lost + unfit != self._lost:
                self._connection.execute("UPDATE run SET lost = ?", (lost + unfit,))
        self._interning.written()
        self._lost = lost + unfit
        return unfit

    def end(self, now: int) -> None:
        """Mark the run as ended, and leave a single file that also opens on read-only media."""
        self._connection.execute("UPDATE run SET ended_ns = ?", (now - self._started,))
        with contextlib.suppress(sqlite3.Error):  # someone is reading: then the -wal stays a while
            self._connection.execute("PRAGMA busy_timeout = 200")
            self._connection.execute("PRAGMA journal_mode = DELETE")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _create(self, run: RunInfo) -> None:
        execute = self._connection.execute
        # WAL comes first: so the tables appear in one write, not page by page. Where a file system
        # has no WAL (some network mounts), SQLite stays with its rollback journal, which will do.
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        with self._transaction():
            execute(f"PRAGMA application_id = {APPLICATION_ID}")
            execute(f"PRAGMA user_version = {VERSION}")
            for statement in CREATE.split(";")[:-1]:
                execute(statement)
            self._insert("run", [(*run.to_row(), None, 0)])
        # So the main file can be recognized even without its -wal.
        execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _moment(self, recorded: tuple[int, int, Event]) -> tuple[Any, ...]:
        number, ns, event = recorded
        return number, ns - self._started, self._interning.fact(event)

    def _measure(self, measured: tuple[str, str, str, int, float, int]) -> tuple[Any, ...]:
        name, optimizer, cell, step, value, event = measured
        return step, self._interning.series(name, optimizer, cell), float(value), event

    def _finding(self, item: tuple[tuple[str, Place], NotedFinding]) -> tuple[Any, ...]:
        key, (finding, first, last) = item
        ids = self._interning
        return (
            self._finding_ids.setdefault(key, len(self._finding_ids) + 1),
            to_sql(finding.rule),
            ids.place(finding.at),
            to_sql(finding.detail),
            finding.certainty,
            encode_evidence(finding.evidence, ids),
            ids.cells(finding.cells),
            finding.count,
            first,
            last,
            finding.recurring,
        )

    def _source(self, item: tuple[str, str]) -> tuple[Any, ...]:
        path, text = item
        return to_sql(path), to_sql(text)

    def _remark(self, item: tuple[tuple[str, str], str]) -> tuple[Any, ...]:
        (topic, name), text = item
        return to_sql(topic), to_sql(name), to_sql(text)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._interning.forget()
            with contextlib.suppress(sqlite3.Error):  # a full disk may have rolled back already
                self._connection.execute("ROLLBACK")
            raise

    def _insert(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Many rows in each statement.

        sqlite3 lets other threads run at each statement, and where they are busy gets its turn
        back only after milliseconds. Row by row, a busy training loop would starve the writer.
        """
        columns = TABLES[table]
        at, size = 0, 1 << (VARIABLES // len(columns)).bit_length() - 1
        while at < len(rows):
            # Sizes are powers of two, so that few statements need to be prepared.
            while size > len(rows) - at:
                size //= 2
            values = list(itertools.chain.from_iterable(rows[at : at + size]))
            self._connection.execute(_insert_statement(table, columns, size), values)
            at += size


def fitting(row: Callable[[T], tuple[Any, ...]], things: Iterable[T]) -> list[tuple[Any, ...]]:
    """The rows of all things that can be encoded: one that can't does not take the rest along."""
    given = list(things)
    try:
        return list(map(row, given))
    except Exception:
        rows = []
        for thing in given:
            with contextlib.suppress(Exception):
                rows.append(row(thing))
        return rows


@cache
def _insert_statement(table: str, columns: tuple[str, ...], size: int) -> str:
    row = f"({','.join('?' * len(columns))})"
    names = ",".join(f'"{column}"' for column in columns)
    return f"INSERT OR REPLACE INTO {table} ({names}) VALUES {','.join([row] * size)}"
