"""Row f: a micro-batch fails, the user catches it and goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor, nn
from torch.utils.data import Dataset

from benchmarks.cases import Case, chunks, distance, exact, judged, micro_batches, net, work
from benchmarks.results import Cell
from benchmarks.tasks import flat
from benchmarks.trainers import Batch, Trainer, Work

ROWS, WINDOW = 8, 4


class Boom(Exception):
    """What goes wrong once, and not again."""


def in_forward(at: int) -> Work:
    model = net()
    calls = 0

    def count(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            raise Boom

    model.register_forward_pre_hook(count)
    return work(micro_batches(*[4] * ROWS), model=model, catches=(Boom,))


def in_backward(at: int) -> Work:
    """When the last layer has its gradient, and the first has not."""
    model = net()
    calls = 0

    def fail(_: Tensor) -> None:
        raise Boom

    def count(_: nn.Module, __: Any, output: Tensor) -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            output.register_hook(fail)

    first = next(model.children())
    first.register_forward_hook(count)
    return work(micro_batches(*[4] * ROWS), model=model, catches=(Boom,))


class _Torn(Dataset[Batch]):
    def __init__(self, at: int) -> None:
        self.rows = micro_batches(*[4] * ROWS)
        self.torn = at - 1

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Batch:
        if i == self.torn:
            self.torn = -1
            raise Boom
        return self.rows[i]


def in_data(at: int) -> Work:
    return work(_Torn(at), catches=(Boom,))


def outcomes(at: int) -> dict[str, list[list[int]]]:
    """All that is right, as windows of micro-batches: nothing leaks, nothing is torn."""
    everything = list(range(1, ROWS + 1))
    rest = [i for i in everything if i != at]
    whole = chunks(everything, WINDOW)
    ways: dict[str, list[list[int]]] = {
        "the window went on without it": [[i for i in window if i != at] for window in whole],
        "the window was filled up with the next": chunks(rest, WINDOW),
        "its window was dropped": [window for window in whole if at not in window],
        "the rest of its window went on alone": [[i for i in whole[0] if i > at], *whole[1:]],
        "a new window began after it": chunks([i for i in everything if i > at], WINDOW),
        "the pass began again": whole,
    }
    short = {
        f"{way}, the last short window was not stepped": windows[:-1]
        for way, windows in ways.items()
        if len(windows[-1]) < WINDOW
    }
    ways = {way: [window for window in windows if window] for way, windows in ways.items()}
    return ways | {way: windows for way, windows in short.items() if windows}


def measure(make: Callable[[int], Work], at: int, trainer: Trainer) -> Cell:
    """Against whichever right outcome is nearest."""
    rows = dict(enumerate(micro_batches(*[4] * ROWS), 1))
    job = make(at)
    start = flat(job.model)
    trainer.train(job)
    found = {}
    for way, windows in outcomes(at).items():
        right = exact(work(list(rows.values())), [[rows[i] for i in w] for w in windows])
        found[way] = distance(flat(job.model), right, start)
    nearest = min(found, key=lambda way: found[way])
    cell = judged(found[nearest])
    return replace(cell, how=nearest) if cell.good else cell


def _case(what: str, make: Callable[[int], Work], at: int) -> Case:
    return Case(what, "catch", lambda trainer: measure(make, at, trainer))


CASES = {
    "f1": _case("a forward fails on the 2nd micro-batch of 4, and is caught", in_forward, 2),
    "f2": _case("a forward fails on the last micro-batch of a window", in_forward, 4),
    "f3": _case("a backward fails half way through", in_backward, 2),
    "f4": _case("the data fails to give the 3rd micro-batch", in_data, 3),
}
