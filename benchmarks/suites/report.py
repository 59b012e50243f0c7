"""What a report of 10,000 steps takes, next to reading the recording at all."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import compare
from benchmarks.results import Results, size_of, versions
from gradledger.ledger import Place
from gradledger.ledger.events import Backward, Clear, Clip, Event, Own, RunEnd, Step, Weight
from gradledger.recording import Recorder, Recording, RunInfo
from gradledger.report import render
from gradledger.report.chronicle import Chronicle, together, told
from gradledger.report.page import page

STEPS = 10_000
LAYERS = [f"layers.{n}.weight" for n in range(24)]
CELLS = frozenset(LAYERS)
ABOUT = f"""\
Reports of a recorded run of {STEPS:,} steps with 24 parameters and windows of 4, next to reading \
the recording and doing nothing with it. CPU time per step of the run."""


def results(quick: bool) -> Results:
    """Time for a step of the run, of each way to look at it; and the size of the page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.gradledger")
        _record(path)
        chronicle = _told(path)
        verdict = together([chronicle])

        def read() -> None:
            with Recording(path) as recording:
                for _ in recording.events():
                    pass
                for _ in recording.measures():
                    pass

        def as_page() -> None:
            page([_told(path)], verdict=verdict)

        def as_json() -> None:
            render(together([_told(path)]), "json", stream=io.StringIO())

        table = compare(
            f"A report of {STEPS:,} steps",
            {
                "reading alone": read,
                "reading again (the noise)": read,
                "gradledger report --format json": as_json,
                "gradledger report --format html": as_page,
            },
            per=STEPS,
            rounds=2 if quick else 5,
        )
        size = size_of(len(page([chronicle], verdict=verdict).encode()))
    return Results(
        "report",
        "Reports",
        ABOUT,
        {"formats": replace(table, note=f"The page has {size}.")},
        quick,
        versions=versions(["gradledger", "jinja2", "rich"]),
    )


def _told(path: Path) -> Chronicle:
    with Recording(path) as recording:
        return told(recording)


def _record(path: Path) -> None:
    with Recorder(path, run=RunInfo("train.py")) as recorder:
        for event in _events():
            recorder.record(event)
        recorder.flush(timeout=60)
        for step in range(1, STEPS + 1):
            recorder.measure("gradient norm", 1 + step % 7, step=step, optimizer="optimizer")
            if step % 20 == 0:
                for number, cell in enumerate(LAYERS):
                    norm = 1 / (1 + number)
                    recorder.measure(
                        "gradient norm", norm, step=step, optimizer="optimizer", cell=cell
                    )
                recorder.flush()


def _events() -> Iterator[Event]:
    yield Own(_at(1), "optimizer", CELLS)
    for _ in range(STEPS):
        yield Clear(_at(2), CELLS)
        for _ in range(4):
            yield Backward(_at(3), CELLS, Weight("mean", 4, 32))
        yield Clip(_at(4), CELLS)
        yield Step(_at(5), "optimizer")
    yield RunEnd(_at(6))


def _at(line: int) -> Place:
    return Place("train.py", line)
