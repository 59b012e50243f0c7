"""Reads a recorded run. Needs no torch, and never writes to the recording."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gradledger.errors import RecordingError
from gradledger.ledger.events import Event
from gradledger.ledger.findings import Finding
from gradledger.ledger.unseen import Unseen
from gradledger.recording.encoding import UnknownToThisVersion, decode_evidence
from gradledger.recording.fingerprints import FINGERPRINT, decode_fingerprint
from gradledger.recording.opening import damage, open_recording
from gradledger.recording.rows import Rows
from gradledger.recording.run import RunInfo
from gradledger.recording.text import from_sql
from gradledger.recording.unseen import UNSEEN, decode_unseen

if TYPE_CHECKING:
    from gradledger.rules.ranks import Fingerprints


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event, its number in the run, and when it happened, in nanoseconds since the start."""

    number: int
    ns: int
    event: Event


@dataclass(frozen=True, slots=True)
class Noted:
    """A finding, and the numbers of the events at which it was seen first and last."""

    finding: Finding
    first_event: int
    last_event: int


@dataclass(frozen=True, slots=True)
class Series:
    """What was measured, of which optimizer and cell ("" where it is of none)."""

    name: str
    optimizer: str = ""
    cell: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a step; `event` is the number of the last event before it."""

    series: Series
    step: int
    value: float
    event: int


@dataclass(frozen=True, slots=True)
class Remark:
    """Something else that a report says; docs/recording.md has the topics."""

    topic: str
    name: str
    text: str


class Recording:
    """A run that was recorded, or still is. Close it, or use it in a `with`.

    Whatever is wrong with the file, here or in any method, is a `RecordingError` that says so.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with contextlib.ExitStack() as cleanup:
            self._connection = open_recording(self.path, cleanup)
            self._rows = Rows(self._connection)
            self.run = self._run_info()
            self._cleanup = cleanup.pop_all()

    @property
    def ended(self) -> bool:
        """True if the recorder was closed: the run has ended. Else it was cut off, or goes on."""
        return bool(self._one("SELECT ended_ns IS NOT NULL FROM run"))

    @property
    def duration_ns(self) -> int:
        """From the start to the end, or to the last event where there is no end."""
        ns: int = self._one("SELECT coalesce(ended_ns, (SELECT max(ns) FROM moments), 0) FROM run")
        return ns

    @property
    def lost(self) -> int:
        """How many things were not recorded because the file could not be written."""
        lost: int = self._one("SELECT lost FROM run")
        return lost

    def __len__(self) -> int:
        count: int = self._one("SELECT count(*) FROM moments")
        return count

    def events(self, *kinds: type[Event], after: int = 0) -> Iterator[Recorded]:
        """Events in order, of all kinds or of some, after the one with that number."""
        moments = "SELECT number, ns, fact FROM moments WHERE number > ? ORDER BY number"
        known: dict[int, Event] = {}
        for number, ns, fact in self._select(moments, after):
            event = known.get(fact)
            if event is None:
                event = known[fact] = self._fact(fact)
            if not kinds or isinstance(event, kinds):
                yield Recorded(number, ns, event)

    def findings(self) -> tuple[Noted, ...]:
        """All findings, in the order in which they were first seen."""
        columns = {name for _, name, *_ in self._select("PRAGMA table_info(findings)")}
        recurring = "recurring" if "recurring" in columns else "0"  # of a version without
        rows = self._select(
            "SELECT rule, place, detail, certainty, evidence, cells, count, first_event, last_event"
            f", {recurring} FROM findings ORDER BY first_event, id"
        )
        with damage(self.path):
            return tuple(self._noted(row) for row in rows)

    def series(self) -> tuple[Series, ...]:
        """What was measured."""
        return tuple(sorted(set(self._series().values()), key=astuple))

    def measures(self, *series: Series) -> Iterator[Measure]:
        """Measures of all series or of some, step by step."""
        wanted = {id: one for id, one in self._series().items() if not series or one in series}
        among = f"WHERE series IN ({','.join(map(str, wanted))})" if series else ""
        rows = self._select(
            f"SELECT series, step, value, event FROM measures {among} ORDER BY step"
        )
        for id, step, value, event in rows:
            if id in wanted:
                # SQLite holds no NaN; it stores NULL for it.
                yield Measure(wanted[id], step, math.nan if value is None else value, event)

    def sources(self) -> dict[str, str]:
        """The source files, as they were when they ran."""
        rows = self._select("SELECT path, text FROM sources ORDER BY path")
        with damage(self.path):
            return {from_sql(path): from_sql(text) for path, text in rows}

    def remarks(self, *topics: str) -> tuple[Remark, ...]:
        """The remarks of all topics or of some, in the order in which they were made."""
        if not self._one("SELECT count(*) FROM sqlite_master WHERE name = 'remarks'"):
            return ()  # of a version that had none yet
        rows = self._select("SELECT topic, name, text FROM remarks ORDER BY rowid")
        with damage(self.path):
            remarks = [Remark(*map(from_sql, row)) for row in rows]
        return tuple(remark for remark in remarks if not topics or remark.topic in topics)

    def fingerprints(self) -> Fingerprints:
        """Fingerprints of the replicas after some steps, to be compared between ranks."""
        remarks = self.remarks(FINGERPRINT)
        with damage(self.path):
            taken = [decode_fingerprint(remark.name, remark.text) for remark in remarks]
        return sorted(taken, key=lambda one: one[1])

    def unseen(self) -> tuple[Unseen, ...]:
        """What the audit did not see, as far as it knows."""
        remarks = self.remarks(UNSEEN)
        with damage(self.path):
            return tuple(decode_unseen(remark.text) for remark in remarks)

    def close(self) -> None:
        """Close the file."""
        self._cleanup.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _run_info(self) -> RunInfo:
        (row,) = self._select(
            "SELECT script, argv, versions, rank, world_size, launch, started_at FROM run"
        )
        with damage(self.path):
            return RunInfo.from_row(row)

    def _fact(self, id: int) -> Event:
        try:
            with damage(self.path, spare=UnknownToThisVersion):
                return self._rows.fact(id)
        except UnknownToThisVersion as unknown:
            raise RecordingError(
                f"{self.path} was written by a newer gradledger: this one does not know {unknown}. "
                "Upgrade with `pip install --upgrade gradledger`."
            ) from None

    def _noted(self, row: tuple[Any, ...]) -> Noted:
        rule, place, detail, certainty, evidence, cells, count, *events, recurring = row
        finding = Finding(
            from_sql(rule),
            self._rows.place(place),
            from_sql(detail),
            certainty,
            decode_evidence(evidence, self._rows),
            self._rows.cells(cells),
            count,
            recurring,
        )
        return Noted(finding, *events)

    def _series(self) -> dict[int, Series]:
        rows = self._select("SELECT id, name, optimizer, cell FROM series")
        with damage(self.path):
            return {id: Series(*map(from_sql, texts)) for id, *texts in rows}

    def _one(self, query: str) -> Any:
        (row,) = self._select(query)
        return row[0]

    def _select(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        with damage(self.path):
            yield from self._connection.execute(query, values)
