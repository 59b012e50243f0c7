"""What a Stepper costs and saves: next to the plain loop, to trainers, and to the hardware."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import mse_loss
from torch.nn.utils import clip_grad_norm_
from torch.optim import SGD, AdamW

from benchmarks import peaks
from benchmarks.measure import compare
from benchmarks.results import Ratios, Results, Row, Table, versions
from benchmarks.tasks import (
    CLIP,
    Data,
    Loop,
    Task,
    Way,
    chain,
    deep,
    must_agree,
    small,
    transformer,
)
from benchmarks.telling import FLOOR
from benchmarks.trainers import PACKAGES
from benchmarks.trainers import ways as installed
from gradledger import Stepper

TITLE = "What a Stepper costs and saves"
ABOUT = """\
Whole training loops with clipping, on one thread: the same weights, the same batches, and the \
same parameters at the end, which is checked before anything is timed. CPU time of an update, next \
to the plain loop as people write it by hand. What a trainer takes to begin and to end is not \
timed."""

TASKS = {
    "mlp_sgd": Task("MLP 10-32-1, SGD", small, SGD, (32, 10), 1, 1.05, batches=128, rounds=21),
    "mlp_adamw": Task(
        "MLP 10-32-1, AdamW", small, AdamW, (32, 10), 1, 0.65, batches=128, rounds=21
    ),
    "chain": Task("200 layers of 16x16, AdamW", partial(chain, 200), AdamW, (32, 16), 16, 0.5),
    "transformer": Task(
        "transformer, d 128, 4 layers, AdamW",
        transformer,
        AdamW,
        (8, 64, 128),
        128,
        0.97,
        rounds=11,
    ),
}
NEAR_THE_LIMIT = {"mlp_adamw": 1.20, "chain": 1.08, "transformer": 1.03}
"""The goals of windows of several: next to what any loop has to do, not to the plain loop."""

LIMITS = {
    "chain": Task("200 layers of 16x16", partial(chain, 200), AdamW, (32, 16), 16, rounds=41),
    "transformer": Task("transformer", transformer, AdamW, (1, 8, 128), 128, rounds=31),
    "deep": Task("24-layer MLP of 512x512", partial(deep, 512), AdamW, (1, 512), 512, rounds=21),
}
WINDOWS = (1, 4)
MODEL = "24-layer MLP of 256x256, AdamW, no clipping"
PLAIN, NOISE = "plain loop", "plain loop again (the noise)"


def plain(task: Task, window: int = 1, **options: Any) -> Loop:
    """As people write it."""
    model, optimizer = task.make(**options)

    def each(data: Data) -> None:
        for x, y in data:
            optimizer.zero_grad()
            loss = mse_loss(model(x), y)
            loss.backward()
            if task.clip is not None:
                clip_grad_norm_(model.parameters(), task.clip)
            optimizer.step()

    def accumulated(data: Data) -> None:
        for i, (x, y) in enumerate(data):
            loss = mse_loss(model(x), y) / window
            loss.backward()
            if (i + 1) % window == 0:
                if task.clip is not None:
                    clip_grad_norm_(model.parameters(), task.clip)
                optimizer.step()
                optimizer.zero_grad()

    return Loop(model, each if window == 1 else accumulated)


def stepped(
    task: Task,
    window: int = 1,
    *,
    pack: bool = True,
    release: Literal["window", "eager"] = "window",
    **options: Any,
) -> Loop:
    """The same with a Stepper."""
    model, optimizer = task.make(**options)
    stepper = Stepper(
        model, optimizer, accumulate=window, clip_norm=task.clip, pack=pack, release=release
    )

    def run(data: Data) -> None:
        for x, y in stepper.over(data):
            loss = mse_loss(model(x), y)
            stepper.backward(loss, items=len(y))

    return Loop(model, run)


def bare(task: Task, window: int = 1) -> Loop:
    """Forward and backward, and nothing done with the gradients: what no loop can save."""
    model, _ = task.make()

    def run(data: Data) -> None:
        for x, y in data:
            mse_loss(model(x), y).backward()

    return Loop(model, run)


def loops(task: Task, window: int) -> Ratios:
    """By hand and with a Stepper. The fused optimizer is the best that a plain loop can have."""
    ways: dict[str, Way] = {
        PLAIN: plain,
        NOISE: plain,
        "Stepper": stepped,
        "Stepper, pack=False": partial(stepped, pack=False),
        "Stepper, fused=True": partial(stepped, fused=True),
        "plain loop, fused=True": partial(plain, fused=True),
    }
    must_agree(task, window, ways)
    data = task.data(task.batches)
    ways |= {FLOOR: bare}
    return compare(
        f"{task.name}, windows of {window}",
        {name: partial(way(task, window).run, data) for name, way in ways.items()},
        per=task.batches // window,
        rounds=task.rounds,
        peers=[PLAIN, "plain loop, fused=True"],
    )


def near_the_limit(task: Task, window: int, goal: float) -> Ratios:
    """A Stepper, next to the same forward and backward passes with nothing else."""
    ways: dict[str, Way] = {PLAIN: plain, "Stepper": stepped}
    must_agree(task, window, ways)
    ways = {FLOOR: bare, f"{FLOOR}, again (the noise)": bare, **ways}
    data = task.data(task.batches)
    return compare(
        f"{task.name}, windows of {window}, next to the limit",
        {name: partial(way(task, window).run, data) for name, way in ways.items()},
        per=task.batches // window,
        rounds=task.rounds,
        goals={"Stepper": goal},
        peers=[PLAIN],
    )


def memory() -> tuple[Ratios, Ratios, Ratios]:
    """Spending each gradient as it arrives. Global clipping would need them all, so it is off."""
    task = Task(MODEL, partial(deep, 256), AdamW, (16, 256), 256, clip=None)
    eager = 'Stepper, release="eager"'
    ways: dict[str, Way] = {
        PLAIN: plain,
        "Stepper": stepped,
        eager: partial(stepped, release="eager"),
    }
    must_agree(task, 1, ways)
    gradients = {name: peaks.of_gradients(task, way) for name, way in ways.items()}
    everything = {name: peaks.of_everything(task, way) for name, way in ways.items()}
    data = task.data(2)
    return (
        _sizes(f"{MODEL}: gradients at once, the most", gradients, {eager: 0.15}),
        _sizes(f"{MODEL}: all memory at once, the most", everything, {}),
        compare(
            f"{MODEL}: the time of an update",
            {name: partial(way(task, 1).run, data) for name, way in ways.items()},
            per=2,
            peers=[PLAIN],
        ),
    )


def window_memory(window: int) -> Ratios:
    """Weights that are large, activations that are small, and an optimizer without state."""
    task = Task("24-layer MLP of 256x256, SGD", partial(deep, 256), SGD, (1, 256), 256, clip=None)
    eager = 'Stepper, release="eager"'
    ways: dict[str, Way] = {
        PLAIN: plain,
        "Stepper": stepped,
        eager: partial(stepped, release="eager"),
    }
    must_agree(task, window, ways)
    sizes = {name: peaks.of_windows(task, way, window) for name, way in ways.items()}
    title = f"{task.name}, windows of {window}: what they add to memory, the most"
    return _sizes(title, sizes, {eager: 1.05})


def _sizes(title: str, sizes: dict[str, int], goals: dict[str, float]) -> Ratios:
    rows = []
    for name, size in sizes.items():
        ratio = size / sizes[PLAIN]
        rows.append(Row(name, size, ratio, ratio, ratio, goals.get(name)))
    return Ratios(title, rows, peers=[PLAIN], unit="bytes")


def limit(task: Task) -> Ratios:
    """Clip, step and clear alone, next to a copy that touches as many bytes as they have to.

    An element must be read for the norm (its gradient), read for the step (gradient, parameter,
    two moments) and written (parameter, two moments): 8 passes, so a copy of 4 floats to 4.
    """
    work: dict[str, Callable[[], object]] = {}
    before: dict[str, Callable[[], object]] = {}
    ((x, y),) = task.data(1)
    count = 4 * sum(p.numel() for p in task.model().parameters())
    copy = torch.empty(count).copy_
    work["a copy of the same bytes (the limit)"] = partial(copy, torch.rand(count))
    for name, options in (("", {}), (", fused=True", {"fused": True})):
        before[f"plain{name}"], work[f"plain{name}"] = _plain_parts(task, x, y, **options)
        before[f"Stepper{name}"], work[f"Stepper{name}"] = _stepper_parts(task, x, y, **options)
    return compare(
        f"Clip, AdamW step and clear: {task.name}, {8 * count / 1e6:.1f} MB to touch",
        work,
        before=before,
        rounds=task.rounds,
        peers=["plain", "plain, fused=True"],
        note="A copy fetches the lines that it will write, too, which a step has read anyway: a "
        "ratio below 1 is not magic.",
    )


def _plain_parts(
    task: Task, x: Tensor, y: Tensor, **options: Any
) -> tuple[Callable[[], object], Callable[[], object]]:
    """What brings the gradients, and what spends them."""
    model, optimizer = task.make(**options)

    def spend() -> None:
        clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()

    return lambda: mse_loss(model(x), y).backward(), spend


def _stepper_parts(
    task: Task, x: Tensor, y: Tensor, **options: Any
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Its spending is the flush() of a window that is still open."""
    model, optimizer = task.make(**options)
    stepper = Stepper(model, optimizer, accumulate=1_000_000, clip_norm=CLIP)
    return lambda: stepper.backward(mse_loss(model(x), y), items=len(y)), stepper.flush


def trainers(task: Task, window: int, ways: dict[str, Way], absent: dict[str, str]) -> Ratios:
    """Next to what others offer for the same loop, each with its usual way to accumulate."""
    ways = {PLAIN: plain, NOISE: plain, "Stepper": stepped} | ways
    must_agree(task, window, ways)
    data = task.data(task.batches)
    table = compare(
        f"{task.name}, windows of {window}",
        {name: partial(way(task, window).run, data) for name, way in ways.items()},
        per=task.batches // window,
        rounds=task.rounds,
        goals={} if task.goal is None or window > 1 else {"Stepper": task.goal},
        peers=[name for name in ways if name not in (NOISE, "Stepper")],
    )
    return replace(table, rows=table.rows + [Row.missing(*each) for each in absent.items()])


def results(quick: bool) -> Results:
    """Everything about the Stepper, on one thread."""
    torch.set_num_threads(1)
    ways, absent = installed()
    tasks, limits = (_rough(TASKS), _rough(LIMITS)) if quick else (TASKS, LIMITS)
    tables: dict[str, Table] = {}
    for key, task in tasks.items():
        for window in WINDOWS:
            tables[f"trainers.{key}.{window}"] = trainers(task, window, ways, absent)
    for key, task in tasks.items():
        for window in WINDOWS:
            tables[f"loops.{key}.{window}"] = loops(task, window)
    for key, task in tasks.items():
        if key in NEAR_THE_LIMIT:
            tables[f"near_the_limit.{key}.4"] = near_the_limit(task, 4, NEAR_THE_LIMIT[key])
    tables["memory.gradients"], tables["memory.all"], tables["memory.time"] = memory()
    tables["memory.windows"] = window_memory(4)
    for key, task in limits.items():
        tables[f"limit.{key}"] = limit(task)
    return Results("stepper", TITLE, ABOUT, tables, quick, versions=versions(PACKAGES))


def _rough(tasks: dict[str, Task]) -> dict[str, Task]:
    """Without the largest."""
    *smaller, _ = tasks.items()
    return {key: replace(task, rounds=5, checked=8) for key, task in smaller}
