"""Forks a writer for each line on stdin, which holds the path of a recording and a number of turns.

Answers with the writer's process id. The writer records numbered events until it is killed, and
tells through the pipe `<path>.said` what it has handed over, and when. A line there is `go`,
`handed <monotonic ns> <count>`, `flushed <count>` or `closing`. (Forks, because to start Python
anew for each of many kills takes far longer than the kills.)
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TextIO

from gradledger.ledger.events import Backward, Clear, Event, Step, Weight
from gradledger.ledger.places import Place
from gradledger.recording import Recorder, RunInfo

CELLS = frozenset(f"net.{n}.weight" for n in range(20))


def numbered(number: int) -> Event:
    """An event that can be told by its line; some have a payload that was never there before."""
    at = Place("train.py", number)
    if number % 3 == 0:
        return Clear(Place("train.py", number, via=at), CELLS - {f"net.{number % 20}.weight"})
    if number % 3 == 1:
        return Backward(at, CELLS, Weight("mean", items=number))
    return Step(at, "AdamW", CELLS)


def write(path: str, turns: int, said: TextIO) -> None:
    print("go", file=said, flush=True)
    recorder = Recorder(path, run=RunInfo("train.py"))
    handed = 0
    for turn in range(turns):
        for _ in range(10):
            handed += 1
            recorder.record(numbered(handed))
        print("handed", time.monotonic_ns(), handed, file=said, flush=True)
        if turn % 50 == 49:
            assert recorder.flush(), "nothing may be lost here"
            print("flushed", handed, file=said, flush=True)
        time.sleep(0.002)
    print("closing", file=said, flush=True)
    recorder.close()
    print("flushed", handed, file=said, flush=True)
    signal.pause()


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    for line in sys.stdin:
        path, turns = line.split()
        if child := os.fork():
            print(child, flush=True)
        else:
            with open(f"{path}.said", "w") as said:
                write(path, int(turns), said)


if __name__ == "__main__":
    main()
