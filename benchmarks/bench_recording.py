"""What recording costs in the training thread, next to the log that people write by hand."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import compare
from gradledger.ledger import Place
from gradledger.ledger.events import Backward, Batch, Clear, Clip, Step, Weight
from gradledger.recording import Recorder, RunInfo

STEPS = 2_000
CELLS = frozenset(f"layer{i}.weight" for i in range(50))


def at(line: int) -> Place:
    return Place("train.py", line)


EVENTS = (
    Batch(at(1)),
    Clear(at(2), CELLS),
    Backward(at(3), CELLS, Weight("mean", 1, 32)),
    Clip(at(4), CELLS),
    Step(at(5), "optimizer"),
)


def main() -> None:
    """Time per event in the thread that trains, and bytes per step of five events."""
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
            compare(
                "Recording, per event in the training thread",
                {"a line of JSON, flushed": by_hand, "Recorder.record": recorded},
                per=STEPS * len(EVENTS),
                clock=time.thread_time,
                rounds=9,
            )
            recorder.flush()
        size = recorder.path.stat().st_size / (10 * STEPS)
        print(f"  {size:.0f} bytes per step in the file; lost: {recorder.lost}")


if __name__ == "__main__":
    sys.exit(main())
