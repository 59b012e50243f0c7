"""Runs to make pages of: good and bad ones, long and strange ones, all without torch."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

from gradledger.ledger import Place
from gradledger.ledger.events import (
    Backward,
    Clear,
    Clip,
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
from gradledger.recording import RunInfo
from gradledger.report.chronicle import Chronicle, together
from gradledger.report.page import page
from tests.report.chronicle.recorded import read, record

WEIGHTS = frozenset(f"layers.{n}.{kind}" for n in range(3) for kind in ("weight", "bias"))


def page_of(*chronicles: Chronicle, cures: Mapping[tuple[str, Place], str] = {}) -> str:
    """The page of a run."""
    return page(chronicles, verdict=together(chronicles), cures=cures)


def scene(
    events: Iterable[Event],
    text: str,
    *,
    path: str = "train.py",
    rank: int = 0,
    world_size: int = 1,
    called: dict[str, str] | None = None,
    measured: bool = True,
) -> Chronicle:
    """A run of that program, in which that happened."""
    run = RunInfo(
        path,
        ("--epochs", "3"),
        {"python": "3.12.1", "torch": "2.9.0", "gradledger": "0.1.0"},
        rank=rank,
        world_size=world_size,
        started_at=datetime(2026, 3, 14, 9, 30, tzinfo=timezone.utc),
    )
    with TemporaryDirectory() as folder:
        file = Path(folder, "run.gradledger")
        record(file, events, run=run, sources={path: text}, called=called)
        chronicle = read(file)
    # Events that were recorded at once are spread over time as a training's are.
    times = array("q", (int(2e9 + 4e7 * turn) for turn in range(len(chronicle.turns))))
    told = replace(chronicle, times=times, seconds=2 + len(times) * 0.04)
    return with_measures(told) if measured else told


def with_measures(chronicle: Chronicle, layers: Iterable[str] = sorted(WEIGHTS)) -> Chronicle:
    """With norms and ratios as a training has them: falling, noisy, and unequal by layer."""
    chance = random.Random(chronicle.run.rank)
    measures: dict[tuple[str, int, str], tuple[array[int], array[float]]] = {}
    layers = list(layers)
    for lane in range(len(chronicle.lanes)):
        turns = array(
            "L",
            (
                turn
                for turn, pattern in enumerate(chronicle.turns)
                if any(m.kind == "spend" and lane in m.lanes for m in chronicle.patterns[pattern])
            ),
        )
        if not turns:
            continue
        for name, size in (("gradient norm", 3.0 / (lane + 1)), ("update ratio", 2e-3)):
            for number, cell in enumerate(["", *layers]):
                own = size * 0.7 ** (number / max(len(layers), 1) * 6)
                falls = (0.2 + 2 * math.exp(-3 * n / len(turns)) for n in range(len(turns)))
                values = array("d", (own * fall * chance.lognormvariate(0, 0.2) for fall in falls))
                measures[name, lane, cell] = turns, values
        losses = array("d", (0.1 + 2 * math.exp(-n / 40) for n in range(len(turns))))
        measures["loss", lane, ""] = turns, losses
        measures["learning rate", lane, ""] = turns, array("d", [0.01] * len(turns))
    return replace(chronicle, measures=measures)


PLAIN = """\
import torch

model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
"""


def plain(steps: int = 600, *, clears: bool = True, epochs: int = 3, rank: int = 0) -> Chronicle:
    """A loop that is right, or that nobody clears in."""

    def events() -> Iterator[Event]:
        yield Own(Place("train.py", 4), "optimizer", WEIGHTS)
        clear, clip = Clear(Place("train.py", 8), WEIGHTS), Clip(Place("train.py", 11), WEIGHTS)
        backward = Backward(Place("train.py", 10), WEIGHTS, Weight("mean", 1.0, 32))
        step = Step(Place("train.py", 12), "optimizer")
        schedule = Schedule(Place("train.py", 13), "scheduler", "optimizer")
        for number in range(steps):
            if clears:
                yield clear
            yield backward
            if clears:
                yield clip
            yield step
            yield schedule
            if (number + 1) % max(steps // epochs, 1) == 0:
                yield EpochEnd(Place("train.py", 7))
        yield RunEnd(Place("train.py", 13))

    return scene(events(), PLAIN, rank=rank)


GAN = """\
opt_g = torch.optim.Adam(generator.parameters())
opt_d = torch.optim.Adam(discriminator.parameters())
for real in loader:
    opt_g.zero_grad()
    g_loss(discriminator(generator(noise()))).backward()
    opt_g.step()
    d_loss(discriminator(real), discriminator(fake.detach())).backward()
    opt_d.step()
    opt_d.zero_grad()
"""


def leak(rounds: int = 150) -> Chronicle:
    """GL102: what the generator's loss left in the discriminator is spent with the next."""
    d, g = frozenset({"d.weight", "d.bias"}), frozenset({"g.weight", "g.bias"})

    def events() -> Iterator[Event]:
        yield Own(Place("gan.py", 1), "opt_g", g)
        yield Own(Place("gan.py", 2), "opt_d", d)
        for _ in range(rounds):
            yield Clear(Place("gan.py", 4), g)
            yield Backward(Place("gan.py", 5), d | g, Weight("mean", 1.0, 64))
            yield Step(Place("gan.py", 6), "opt_g")
            yield Backward(Place("gan.py", 7), d, Weight("mean", 1.0, 64))
            yield Step(Place("gan.py", 8), "opt_d")
            yield Clear(Place("gan.py", 9), d)
        yield RunEnd(Place("gan.py", 9))

    chronicle = scene(events(), GAN, path="gan.py", measured=False)
    return with_measures(chronicle, ["weight", "bias"])


AMP = """\
scaler = torch.amp.GradScaler()
optimizer = torch.optim.AdamW(model.parameters())
for i, (x, y) in enumerate(loader):
    loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""


def amp(steps: int = 400, *, unscales: bool = False) -> Chronicle:
    """GL401: clipped before unscaled; some steps overflow, and one batch fails."""

    def events() -> Iterator[Event]:
        yield Own(Place("amp.py", 2), "optimizer", WEIGHTS)
        for number in range(steps):
            if number == steps // 3:
                yield Fault(Place("amp.py", 4))
            yield Backward(Place("amp.py", 5), WEIGHTS, Weight("mean", 1.0, 16), scaler="scaler")
            if unscales:
                yield Unscale(Place("amp.py", 6), "optimizer", "scaler")
            yield Clip(Place("amp.py", 6), WEIGHTS)
            if number in (0, 1, 57, 203, 350):
                yield Skipped(Place("amp.py", 7), "optimizer", "scaler")
            else:
                yield Step(Place("amp.py", 7), "optimizer", scaler="scaler")
            yield Update(Place("amp.py", 8), "scaler")
            yield Clear(Place("amp.py", 9), WEIGHTS)
        yield RunEnd(Place("amp.py", 9))

    return scene(events(), AMP, path="amp.py")


ACCUMULATION = """\
optimizer = torch.optim.AdamW(model.parameters())

for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        loss = loss_fn(model(x), y)
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


def accumulation(epochs: int = 3, batches: int = 42) -> Chronicle:
    """GL301, and GL203: batches in windows of 4, the last of each epoch short, nothing divided."""

    def events() -> Iterator[Event]:
        yield Own(Place("accumulate.py", 1), "optimizer", WEIGHTS)
        for _ in range(epochs):
            for batch in range(batches):
                items = 8 if batch + 1 < batches else 3
                weight = Weight("mean", 1.0, items)
                yield Backward(Place("accumulate.py", 6), WEIGHTS, weight)
                if batch % 4 == 3:
                    yield Step(Place("accumulate.py", 8), "optimizer")
                    yield Clear(Place("accumulate.py", 9), WEIGHTS)
            yield EpochEnd(Place("accumulate.py", 4), restarts=True)
        yield RunEnd(Place("accumulate.py", 9))

    return scene(events(), ACCUMULATION, path="accumulate.py")


def many_layers(steps: int = 300, blocks: int = 24) -> Chronicle:
    """A transformer: hundreds of parameters."""
    names = [
        f"model.blocks.{n}.{part}.{kind}"
        for n in range(blocks)
        for part in ("attention.qkv", "attention.out", "mlp.up", "mlp.down", "norm")
        for kind in ("weight", "bias")
    ]
    return with_measures(plain(steps), names)


def two_ranks(steps: int = 200) -> list[Chronicle]:
    """The second rank skips some steps that the first one makes."""

    def events(rank: int) -> Iterator[Event]:
        yield Own(Place("train.py", 4), "optimizer", WEIGHTS)
        for number in range(steps):
            yield Clear(Place("train.py", 8), WEIGHTS)
            yield Backward(Place("train.py", 10), WEIGHTS, Weight("mean", 1.0, 32))
            if rank and 80 <= number < 95:
                yield Skipped(Place("train.py", 12), "optimizer")
            else:
                yield Step(Place("train.py", 12), "optimizer")
        yield RunEnd(Place("train.py", 13))

    return [scene(events(rank), PLAIN, rank=rank, world_size=2) for rank in (0, 1)]


def empty() -> Chronicle:
    """A script that never called backward."""
    return scene([], "print('hello')\n", path="hello.py", measured=False)


def not_all_seen() -> Chronicle:
    """A run with no finding, of which some things went unseen."""
    told = plain(60)
    unseen = (
        Unseen("weights", "the loss is compiled", 14),
        Unseen("processes", f"not Python's {EVIL}", 2, ("4123", "4124")),
    )
    return replace(told, verdict=told.verdict._replace(unseen=unseen))


EVIL = "</script><img src=x onerror=alert(1)>"
"""What a parameter, a path, an optimizer or a line of code may be called to do harm."""


def hostile() -> Chronicle:
    """Everything that a script can name is named so; the loop never clears."""
    path = f"{EVIL}.py"
    cells = frozenset({EVIL, "{{ evil }}", "${alert(1)}", "weight\u2028"})
    code = f"x = '{EVIL}' # {EVIL}\nloss.backward()  # {EVIL}\noptimizer.step()  # {EVIL}\n"

    def events() -> Iterator[Event]:
        yield Own(Place(path, 1), "o", cells)
        for _ in range(20):
            yield Backward(Place(path, 2), cells, Weight("mean", EVIL))
            yield Step(Place(path, 3), "o")
        yield RunEnd(Place(path, 3))

    told = scene(events(), code, path=path, called={"o": f"opt{EVIL}"}, measured=False)
    return with_measures(told, sorted(cells))


def several() -> Chronicle:
    """The findings of three runs in one: two errors, a warning."""
    first, *others = plain(20, clears=False), amp(20), accumulation(2, 10)
    verdict = first.verdict._replace(
        findings=sum((one.verdict.findings for one in others), first.verdict.findings),
        sources={p: t for c in (first, *others) for p, t in c.verdict.sources.items()},
    )
    return replace(first, verdict=verdict)


ALL: dict[str, Callable[[], list[Chronicle]]] = {
    "good": lambda: [plain()],
    "uncleared": lambda: [plain(clears=False)],
    "leak": lambda: [leak()],
    "amp": lambda: [amp()],
    "accumulation": lambda: [accumulation()],
    "layers": lambda: [many_layers()],
    "several": lambda: [several()],
    "long": lambda: [plain(10_000)],
    "ranks": two_ranks,
    "eight ranks": lambda: [plain(300, rank=rank) for rank in range(8)],
    "empty": lambda: [empty()],
    "not all seen": lambda: [not_all_seen()],
    "hostile": lambda: [hostile()],
}
