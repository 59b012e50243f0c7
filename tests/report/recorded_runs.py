"""Recordings of runs, on disk, without torch, and with times that are the same each time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

from gradledger.ledger import Book, Place
from gradledger.ledger.events import (
    Backward,
    Clear,
    Clip,
    Edit,
    EpochEnd,
    Event,
    Fault,
    Own,
    RunEnd,
    Schedule,
    Skipped,
    Step,
    Unscale,
    Update,
    Weight,
)
from gradledger.ledger.unseen import Unseen
from gradledger.recording import Recorder, RunInfo
from gradledger.recording.unseen import note_unseen
from gradledger.rules import YIELDS_TO, judge

STARTED = datetime(2026, 3, 14, 9, 30, tzinfo=timezone.utc)
WEIGHTS = frozenset({"layers.0.weight", "layers.10.weight", "layers.2.weight"})
HOSTILE = "=cmd|' /C calc'!A0\n\x1b[31m</script><img src=x onerror=alert(1)>\ud800,\""

Measures = Mapping[tuple[str, str, str], Sequence[float]]
"""By name, optimizer and cell: the numbers of the first step, the second and so on."""


def recorded(
    path: Path,
    events: Iterable[Event],
    text: str = "",
    *,
    script: str = "train.py",
    argv: Sequence[str] = ("--epochs", "3"),
    torch: str = "2.9.0",
    rank: int = 0,
    world_size: int = 1,
    called: Mapping[str, str] = {},
    measures: Measures | None = None,
    unseen: Iterable[Unseen] = (),
    ended: bool = True,
) -> Path:
    """A recording of those events, ten milliseconds from one to the next."""
    book = Book(judge, yields_to=YIELDS_TO)
    run = RunInfo(
        script,
        tuple(argv),
        {"python": "3.12.1", "torch": torch, "gradledger": "0.1.0"},
        rank,
        world_size,
        "launch-1",
        STARTED + timedelta(seconds=rank),
    )
    with Recorder(path, run=run) as recorder:
        recorder.source(script, text)
        for name, own in called.items():
            recorder.remark("called", own, name=name)
        for entry in unseen:
            note_unseen(recorder, entry)
        for event in events:
            findings = book.post(event)
            recorder.record(event)
            for finding in findings:
                recorder.note_finding(finding)
        for (series, optimizer, cell), values in (measures or {}).items():
            for step, value in enumerate(values, 1):
                recorder.measure(series, value, step=step, optimizer=optimizer, cell=cell)
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE moments SET ns = 2000000000 + number * 10000000")
        last = "(SELECT coalesce(max(ns), 0) + 500000000 FROM moments)"
        file.execute(f"UPDATE run SET ended_ns = {last if ended else 'NULL'}")
        file.commit()
    return path


def norms(optimizer: str, values: Sequence[float], cells: Iterable[str] = ()) -> Measures:
    """Gradient norms, and update ratios a thousandth of them."""
    found = {}
    for cell in ("", *cells):
        found["gradient norm", optimizer, cell] = values
        found["update ratio", optimizer, cell] = [value / 1000 for value in values]
    return found


ACCUMULATION = """\
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        loss = loss_fn(model(x), y) / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


def accumulation(
    sizes: Sequence[int] = (4, 4, 4, 4),
    *,
    divisor: float = 4.0,
    items: int = 8,
    clears: bool = True,
) -> Iterator[Event]:
    """Windows of these sizes."""
    yield Own(Place("train.py", 1), "optimizer-1", WEIGHTS)
    for size in sizes:
        for _ in range(size):
            yield Backward(Place("train.py", 5), WEIGHTS, Weight("mean", divisor, items))
        yield Step(Place("train.py", 7), "optimizer-1")
        if clears:
            yield Clear(Place("train.py", 8), WEIGHTS)
    yield EpochEnd(Place("train.py", 3))
    yield RunEnd(Place("train.py", 8))


GAN = """\
opt_g = torch.optim.Adam(generator.parameters())
opt_d = torch.optim.Adam(discriminator.parameters())
for real in loader:
    g_loss(discriminator(generator(noise()))).backward()
    opt_g.step()
    opt_g.zero_grad()
    d_loss(discriminator(real)).backward()
    opt_d.step()
    opt_d.zero_grad()
"""


def gan(rounds: int = 3, *, leaks: bool = True) -> Iterator[Event]:
    """The generator's loss leaks into the discriminator's step (GL102), or it is cleared before."""
    g, d = frozenset({"g.weight", "g.bias"}), frozenset({"d.weight"})
    yield Own(Place("train.py", 1), "optimizer-1", g)
    yield Own(Place("train.py", 2), "optimizer-2", d)
    for _ in range(rounds):
        yield Backward(Place("train.py", 4), g | d, Weight("mean", 1.0, 16))
        yield Step(Place("train.py", 5), "optimizer-1")
        yield Clear(Place("train.py", 6), g if leaks else g | d)
        yield Backward(Place("train.py", 7), d, Weight("mean", 1.0, 16))
        yield Step(Place("train.py", 8), "optimizer-2")
        yield Clear(Place("train.py", 9), d)
    yield RunEnd(Place("train.py", 9))


def scaled() -> Iterator[Event]:
    """Everything that can happen: an overflow, a clip, an edit, a fault, a window left over."""
    at = [Place("amp.py", line) for line in range(30)]
    extra = frozenset({"head.weight"})
    yield Own(at[1], "optimizer-1", WEIGHTS)
    for step in range(3):
        yield Backward(at[2], WEIGHTS, Weight("sum", "n", None), scaler="scaler-1")
        if step == 1:
            yield Skipped(at[6], "optimizer-1", "scaler-1")
        else:
            yield Unscale(at[3], "optimizer-1", "scaler-1")
            yield Clip(at[4], WEIGHTS)
            yield Edit(at[5], WEIGHTS, "change")
            yield Step(at[6], "optimizer-1", scaler="scaler-1")
        yield Update(at[7], "scaler-1")
        yield Schedule(at[8], "scheduler-1", "optimizer-1")
        yield Clear(at[9], WEIGHTS)
    yield Fault(at[10])
    yield Backward(at[11], WEIGHTS | extra)
    yield RunEnd(at[12], crashed=True)
