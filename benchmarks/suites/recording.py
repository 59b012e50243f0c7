"""What recording costs in the training thread, next to the log that people write by hand."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import compare
from benchmarks.results import Results, versions
from gradledger.ledger import Place
from gradledger.ledger.events import Backward, Batch, Clear, Clip, Step, Weight
from gradledger.recording import Recorder, RunInfo

STEPS = 2_000
CELLS = frozenset(f"layer{i}.weight" for i in range(50))
BY_HAND = "a line of JSON, flushed"
OURS = "gradledger: Recorder.record"
ABOUT = """\
What it costs the thread that trains to have an event kept, five of them in a step of 50 \
parameters, next to a log that is written by hand: time, step and kind of the event, and nothing \
about its parameters."""


def at(line: int) -> Place:
    return Place("train.py", line)


EVENTS = (
    Batch(at(1)),
    Clear(at(2), CELLS),
    Backward(at(3), CELLS, Weight("mean", 1, 32)),
    Clip(at(4), CELLS),
    Step(at(5), "optimizer"),
)


def results(quick: bool) -> Results:
    """Time per event in the thread that trains, and bytes per step of five events."""
    rounds = 3 if quick else 9
    with tempfile.TemporaryDirectory() as folder:

        def by_hand() -> None:
            with open(Path(folder, "log.jsonl"), "w", encoding="utf-8") as log:
                for step in range(STEPS):
                    for event in EVENTS:
                        kind = type(event).__name__
                        entry = {"time": time.time(), "step": step, "event": kind}
                        log.write(json.dumps(entry) + "\n")
                        log.flush()

        def recorded() -> None:
            for _ in range(STEPS):
                for event in EVENTS:
                    recorder.record(event)

        with Recorder(Path(folder, "run.gradledger"), run=RunInfo("train.py")) as recorder:
            table = compare(
                "Keeping an event",
                {BY_HAND: by_hand, f"{BY_HAND}, again (the noise)": by_hand, OURS: recorded},
                per=STEPS * len(EVENTS),
                clock=time.thread_time,
                rounds=rounds,
                peers=[BY_HAND],
            )
            recorder.flush()
        a_step = recorder.path.stat().st_size / ((rounds + 1) * STEPS)  # one call was to warm up
        log = Path(folder, "log.jsonl").stat().st_size / STEPS
    note = (
        f"A step takes {a_step:.0f} bytes in the file, and {log:.0f} in the log by hand. "
        f"Events that could not be kept: {recorder.lost}."
    )
    return Results(
        "recording",
        "Recording",
        ABOUT,
        {"event": replace(table, note=note)},
        quick,
        versions=versions(["gradledger"]),
    )
