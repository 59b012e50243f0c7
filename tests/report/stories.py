"""Runs as a book has them: programs, what happened in them, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.ledger import Book, Place
from gradledger.ledger.events import (
    Backward,
    Batch,
    Clear,
    EpochEnd,
    Event,
    Own,
    RunEnd,
    Step,
    Weight,
)
from gradledger.ledger.verdict import Verdict
from gradledger.rules import YIELDS_TO, judge

WEIGHTS = frozenset(f"layers.{n}.{kind}" for n in range(3) for kind in ("weight", "bias"))


class Script:
    """A program's text, and where in it a line is."""

    def __init__(self, text: str, path: str = "train.py") -> None:
        self.text, self.path = text, path

    def at(self, line: str) -> Place:
        numbers = [n for n, row in enumerate(self.text.split("\n"), 1) if row.strip() == line]
        return Place(self.path, numbers[0])


def verdict_on(script: Script, events: Iterable[Event], *, parameters: int = 6) -> Verdict:
    """What the book says after all that, counted as the auditor counts it."""
    book = Book(judge, yields_to=YIELDS_TO)
    for event in events:
        book.post(event)
    return Verdict(
        subject=script.path,
        findings=book.findings,
        tally=book.tally,
        parameters=parameters,
        occurrences=book.occurrences,
        sources={script.path: script.text},
        seconds=1.5,
    )


PLAIN = Script(
    """\
import torch

model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(100):
    for x, y in loader:
        loss = loss_fn(model(x), y)
        loss.backward()
        log(loss)
        optimizer.step()
"""
)


def nobody_clears(script: Script = PLAIN, *, steps: int = 600) -> Verdict:
    """GL101."""

    def events() -> Iterable[Event]:
        making = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"
        yield Own(script.at(making), "optimizer", WEIGHTS)
        for _ in range(steps):
            yield Backward(script.at("loss.backward()"), WEIGHTS)
            yield Step(script.at("optimizer.step()"), "optimizer")

    return verdict_on(script, events())


def all_is_well(*, steps: int = 600) -> Verdict:
    """No finding."""

    def events() -> Iterable[Event]:
        yield Own(Place("train.py", 4), "optimizer", WEIGHTS)
        for _ in range(steps):
            yield Backward(Place("train.py", 9), WEIGHTS)
            yield Step(Place("train.py", 10), "optimizer")
            yield Clear(Place("train.py", 11), WEIGHTS)

    return verdict_on(PLAIN, events())


ACCUMULATION = Script(
    """\
optimizer = torch.optim.AdamW(model.parameters())

for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        loss = loss_fn(model(x), y)
        loss.backward()
        if (i + 1) % 4 == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scheduler.step()
            optimizer.step()
            optimizer.zero_grad()
""",
    path="src/accumulate.py",
)


def accumulation_gone_wrong() -> Verdict:
    """GL301, and GL203 at the same line: 10 batches in windows of 4."""
    script, cells = ACCUMULATION, frozenset({"weight", "bias"})

    def events() -> Iterable[Event]:
        yield Own(Place(script.path, 1), "optimizer", cells)
        for _ in range(3):
            for batch in range(10):
                yield Batch(Place(script.path, 4))
                yield Backward(script.at("loss.backward()"), cells, Weight("mean", 1.0, 8))
                if batch % 4 == 3:
                    yield Step(script.at("optimizer.step()"), "optimizer")
                    yield Clear(script.at("optimizer.zero_grad()"), cells)
            yield EpochEnd(Place(script.path, 4), restarts=True)
        yield RunEnd(Place(script.path, 11))

    return verdict_on(script, events(), parameters=2)


GAN = Script(
    """\
opt_g = torch.optim.Adam(generator.parameters())
opt_d = torch.optim.Adam(discriminator.parameters())
for real in loader:
    opt_d.zero_grad()
    d_loss(discriminator(real), discriminator(generator(noise()).detach())).backward()
    opt_d.step()
    opt_g.zero_grad()
    g_loss(discriminator(generator(noise()))).backward()
    opt_g.step()
""",
    path="gan.py",
)


def wasted_work() -> Verdict:
    """GL204, an info: the generator's loss fills the discriminator, which clears it unspent."""
    script = GAN
    d, g = frozenset({"d.weight", "d.bias"}), frozenset({"g.weight", "g.bias"})

    def events() -> Iterable[Event]:
        yield Own(Place(script.path, 1), "opt_g", g)
        yield Own(Place(script.path, 2), "opt_d", d)
        for _ in range(5):
            yield Clear(Place(script.path, 4), d)
            yield Backward(Place(script.path, 5), d)
            yield Step(Place(script.path, 6), "opt_d")
            yield Clear(Place(script.path, 7), g)
            yield Backward(Place(script.path, 8), d | g)
            yield Step(Place(script.path, 9), "opt_g")

    return verdict_on(script, events(), parameters=4)


def several(*verdicts: Verdict) -> Verdict:
    """All their findings in one verdict, with the numbers of the first."""
    first, *others = verdicts
    return first._replace(
        findings=sum((v.findings for v in others), first.findings),
        occurrences={place: n for v in verdicts for place, n in v.occurrences.items()},
        sources={path: text for v in verdicts for path, text in v.sources.items()},
    )
