"""Recordings made of events, without torch."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from gradledger.ledger import Book
from gradledger.ledger.events import Event
from gradledger.recording import Recorder, Recording, RunInfo
from gradledger.report.chronicle import Chronicle, told
from gradledger.rules import YIELDS_TO, judge


def record(
    path: Path,
    events: Iterable[Event],
    *,
    run: RunInfo | None = None,
    sources: dict[str, str] | None = None,
    called: dict[str, str] | None = None,
) -> Book:
    """Records the events as the auditor does, and gives the book that it kept."""
    book = Book(judge, yields_to=YIELDS_TO)
    with Recorder(path, run=run or RunInfo("train.py")) as recorder:
        for name, text in (called or {}).items():
            recorder.remark("called", text, name=name)
        for source, text in (sources or {}).items():
            recorder.source(source, text)
        for event in events:
            findings = book.post(event)
            recorder.record(event)
            for finding in findings:
                recorder.note_finding(finding)
    return book


def read(path: Path) -> Chronicle:
    """What the recording tells."""
    with Recording(path) as recording:
        return told(recording)


def chronicle_of(events: Iterable[Event], **options: RunInfo) -> Chronicle:
    """What is told of these events."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.gradledger")
        record(path, events, **options)  # type: ignore[arg-type]
        return read(path)
