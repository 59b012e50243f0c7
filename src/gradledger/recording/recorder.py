"""Records a run in the background."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, monotonic_ns
from types import TracebackType

from gradledger.ledger.events import Event
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.recording import forks
from gradledger.recording.paths import reserve
from gradledger.recording.run import RunInfo
from gradledger.recording.store import Batch, NotedFinding, Store
from gradledger.recording.trouble import warn

INTERVAL = 0.1
"""Seconds between batches: the most that a kill can lose."""
LONGEST_INTERVAL = 5.0
"""Seconds between attempts while the file can't be written."""
MOST_WAITING = 100_000
"""Events, and as many measures, that wait in memory when the disk can't keep up."""


class Recorder:
    """Takes what happens, and has a thread of its own write it to a file ten times a second.

    Nothing here raises or waits because of the file. When it can't be written, one
    `RecordingWarning` says why, and `lost` counts what is missing from it.
    `path` is where it records: beside the path asked for, if there was a file already.
    """

    def __init__(self, path: str | os.PathLike[str], *, run: RunInfo) -> None:
        self.run = run
        self._started = monotonic_ns()
        self._numbers = itertools.count(1)
        self._last = 0
        self._events: deque[tuple[int, int, Event]] = deque()
        self._measures: deque[tuple[str, str, Mapping[str, float], int, int]] = deque()
        self._measured = self._measures_taken = 0
        """How many numbers came in, and how many of them the writer has taken."""
        self._findings: dict[tuple[str, Place], NotedFinding] = {}
        self._first_seen: dict[tuple[str, Place], int] = {}
        self._sources: dict[str, str] = {}
        self._remarks: dict[tuple[str, str], str] = {}
        self._flushes: deque[threading.Event] = deque()
        self._lost = 0
        self._counting = threading.RLock()  # reentrant: a signal handler may record, too
        self._warned = False
        self._accepting = True
        self._stopping = False
        self._wake = threading.Event()
        self._in_sqlite = threading.Lock()
        self._held_still = False
        self._ended = 0
        self._thread = threading.Thread(target=self._keep, name="gradledger-recorder", daemon=True)
        self.path = Path(path)
        self._identity: tuple[int, int] | None = None
        try:
            self.path = reserve(path)
            self._identity = _identity(self.path)
            self._thread.start()
        except (OSError, ValueError, RuntimeError) as error:  # no such directory, no more threads
            self._give_up(error)
            self._discard()
            return
        forks.watch(self)
        # The thread is a daemon, so that a hanging disk can't keep the process alive. Daemons still
        # run while exit handlers do.
        atexit.register(self.close)

    # In the thread that trains: only appends to lists in memory.

    def record(self, event: Event) -> None:
        """Take an event. Its number is taken even if it is lost, so that gaps show in the file."""
        number = next(self._numbers)
        waiting = self._events
        if self._accepting and len(waiting) < MOST_WAITING:
            waiting.append((number, monotonic_ns(), event))
            self._last = number
        else:
            self._refuse()

    def measure(
        self, name: str, value: float, *, step: int, optimizer: str = "", cell: str = ""
    ) -> None:
        """Take a number of a step, such as a gradient norm. The last one for a step is valid."""
        self.measure_each(name, {cell: value}, step=step, optimizer=optimizer)

    def measure_each(
        self,
        name: str,
        values: Mapping[str, float],
        *,
        step: int,
        optimizer: str = "",
        event: int | None = None,
    ) -> None:
        """Take the same number of several cells, which must not change any more.

        `event` is the number of the event that it is of, where others were recorded meanwhile.
        """
        if self._accepting and self._measured - self._measures_taken < MOST_WAITING:
            at = self._last if event is None else event
            self._measures.append((name, optimizer, values, step, at))
            self._measured += len(values)
        else:
            self._refuse(len(values))

    def note_finding(self, finding: Finding) -> None:
        """Take a finding, new or grown: there is one for each rule and place."""
        key = finding.rule, finding.at
        first = self._first_seen.setdefault(key, self._last)
        self._findings[key] = finding, first, self._last

    def source(self, path: str, text: str) -> None:
        """Take the text of a source file as it ran; by the time of a report it may have changed."""
        self._sources[path] = text

    def remark(self, topic: str, text: str, *, name: str = "") -> None:
        """Take something else that a report needs. The last one of a topic and name is valid."""
        self._remarks[topic, name] = text

    @property
    def lost(self) -> int:
        """How many of the things taken could not be written to the file."""
        left_over = 0 if self._thread.is_alive() else len(self._take())
        return self._lose(left_over)

    def flush(self, timeout: float = 10.0) -> bool:
        """Wait until the file holds all that was taken so far. False if it does not."""
        if self._thread.is_alive():
            done = threading.Event()
            self._flushes.append(done)
            self._wake.set()
            deadline = monotonic() + timeout
            while not done.wait(INTERVAL) and self._thread.is_alive():
                if monotonic() > deadline:
                    return False
        return self.lost == 0

    def close(self, timeout: float = 10.0) -> None:
        """Write the rest and end the recording properly. Happens by itself when Python exits."""
        atexit.unregister(self.close)
        self._accepting = False
        self._ended = self._ended or monotonic_ns()
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout)
            if self._thread.is_alive():
                self._warn(f"the disk has not answered for {timeout:g} seconds")

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # In the thread that writes. Only its stack holds the SQLite connection: a fork takes no thread
    # along, so no child can use or close a copy of the connection, which SQLite forbids.

    def _keep(self) -> None:
        try:
            with self._in_sqlite:
                store = Store(self.path, self.run, self._started)
        except Exception as error:
            self._give_up(error)
            self._discard()
            return
        interval = INTERVAL
        stopping = False
        while not stopping:
            self._wake.wait(interval)
            self._wake.clear()
            stopping = self._stopping  # read before the batch is taken, which is then the last
            flushes = [self._flushes.popleft() for _ in range(len(self._flushes))]
            if not self._unmoved():
                self._give_up(FileNotFoundError("it was deleted or replaced while it was written"))
                stopping = True
            elif self._write(store, self._take()):
                interval = INTERVAL
            else:
                interval = min(2 * interval, LONGEST_INTERVAL)
            for done in flushes:
                done.set()
        self._finish(store)

    def _take(self) -> Batch:
        events, waiting = self._events, self._measures
        measures = [
            (name, optimizer, cell, step, value, event)
            for name, optimizer, values, step, event in [
                waiting.popleft() for _ in range(len(waiting))
            ]
            for cell, value in values.items()
        ]
        self._measures_taken += len(measures)
        return Batch(
            [events.popleft() for _ in range(len(events))],
            measures,
            dict(reversed([self._findings.popitem() for _ in range(len(self._findings))])),
            dict(self._sources.popitem() for _ in range(len(self._sources))),
            dict(reversed([self._remarks.popitem() for _ in range(len(self._remarks))])),
        )

    def _write(self, store: Store, batch: Batch) -> bool:
        if not batch:
            return True
        try:
            with self._in_sqlite:
                self._lose(store.write(batch, self._lost))
        except sqlite3.Error as error:
            # Findings, sources and remarks are few, and count more than a moment of the timeline.
            self._lose(len(batch.events) + len(batch.measures))
            for key, noted in batch.findings.items():
                self._findings.setdefault(key, noted)
            for path, text in batch.sources.items():
                self._sources.setdefault(path, text)
            for about, text in batch.remarks.items():
                self._remarks.setdefault(about, text)
            self._warn(str(error))
        except Exception as error:
            self._lose(len(batch))
            self._warn(repr(error))
        else:
            return True
        return False

    def _finish(self, store: Store) -> None:
        with self._in_sqlite:
            try:
                if self._unmoved():
                    store.end(self._ended)
            except sqlite3.Error as error:
                self._warn(str(error))
            finally:
                store.close()

    def _unmoved(self) -> bool:
        # SQLite goes on writing to a deleted file without an error.
        try:
            return self._identity is not None and _identity(self.path) == self._identity
        except OSError:
            return False

    # Trouble.

    def _refuse(self, count: int = 1) -> None:
        self._lose(count)
        if self._accepting:
            self._warn("more happened than the disk could take")

    def _lose(self, count: int) -> int:
        with self._counting:
            self._lost += count
            return self._lost

    def _give_up(self, error: Exception) -> None:
        self._accepting = False
        self._warn(getattr(error, "strerror", None) or str(error))

    def _discard(self) -> None:
        # An empty file would only confuse people.
        if self._unmoved():
            for suffix in ("", "-wal", "-shm", "-journal"):
                with contextlib.suppress(OSError):
                    os.unlink(f"{self.path}{suffix}")

    def _warn(self, reason: str) -> None:
        if self._warned:
            return
        self._warned = True
        warn(self.path, reason)

    # Forks.

    def hold_still(self, seconds: float) -> None:
        """Stay out of SQLite while the process forks."""
        if self._in_sqlite.acquire(timeout=seconds):
            self._held_still = True

    def go_on(self) -> None:
        """The fork is done."""
        if self._held_still:
            self._held_still = False
            self._in_sqlite.release()

    def become_a_copy(self) -> None:
        """In a forked child: take nothing, write nothing. The file is the parent's."""
        self._accepting = False
        # The threads that held these locks don't exist in the child.
        self._in_sqlite, self._counting, self._wake = (
            threading.Lock(),
            threading.RLock(),
            threading.Event(),
        )
        self._events, self._measures = deque(), deque()
        self._findings, self._sources, self._remarks = {}, {}, {}
        atexit.unregister(self.close)


def _identity(path: os.PathLike[str]) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino
