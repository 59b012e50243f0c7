"""What a Stepper costs and saves: next to the plain loop, in memory, and against the hardware."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.functional import mse_loss
from torch.nn.utils import clip_grad_norm_
from torch.optim import SGD, AdamW, Optimizer

from benchmarks.measure import compare, measure
from gradledger import Stepper

CLIP = 1.0
CHECKED_BATCHES = 40
Data = list[tuple[Tensor, Tensor]]
Way = Callable[["Task", int], "Loop"]


def small() -> nn.Module:
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))


def chain(tensors: int) -> nn.Module:
    """Linear layers and nothing between them, orthogonal at first: so deep, others die out."""
    layers = [nn.Linear(16, 16, bias=False) for _ in range(tensors)]
    for layer in layers:
        nn.init.orthogonal_(layer.weight)
    return nn.Sequential(*layers)


def transformer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)


def deep(width: int) -> nn.Module:
    return nn.Sequential(*(m for _ in range(24) for m in (nn.Linear(width, width), nn.ReLU())))


@dataclass(frozen=True)
class Task:
    """A model to train, always from the same weights and with the same batches."""

    name: str
    model: Callable[[], nn.Module]
    optimizer: type[Optimizer]
    shape: tuple[int, ...]  # of x; y has it too, but for its last dimension
    outputs: int
    goal: float = 1.0
    dtype: torch.dtype = torch.float32
    clip: float | None = CLIP
    batches: int = 4  # in one timed call
    rounds: int = 15

    def make(self, **options: Any) -> tuple[nn.Module, Optimizer]:
        torch.manual_seed(0)
        model = self.model().to(self.dtype)
        return model, self.optimizer(model.parameters(), lr=1e-3, **options)

    def data(self, count: int) -> Data:
        torch.manual_seed(1)
        y = (*self.shape[:-1], self.outputs)
        draw = partial(torch.randn, dtype=self.dtype)
        return [(draw(self.shape), draw(y)) for _ in range(count)]


@dataclass(frozen=True)
class Loop:
    """A way to train a model on some batches."""

    model: nn.Module
    run: Callable[[Data], object]


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
    task: Task, window: int = 1, *, pack: bool = True, release: str = "window", **options: Any
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


def must_agree(task: Task, window: int, ways: dict[str, Way]) -> None:
    """Trains in all these ways, and fails unless all end where the first does.

    In float64 up to rounding, and in float32, where AdamW makes much of the rounding of tiny
    gradients, up to 5 % of the way that the parameters went.
    """
    for dtype, tolerance in ((torch.float64, 1e-9), (torch.float32, 0.05)):
        exact = replace(task, dtype=dtype, shape=(2, *task.shape[1:]))
        start = flat(exact.make()[0])
        data = exact.data(CHECKED_BATCHES)
        ends = {}
        for name, way in ways.items():
            loop = way(exact, window)
            loop.run(data)
            ends[name] = flat(loop.model)
        right = next(iter(ends.values()))
        for name, end in ends.items():
            off = float((end - right).norm() / (right - start).norm())
            if not off <= tolerance:
                what = f"{task.name}, windows of {window}, {dtype}: {name}"
                raise AssertionError(f"{what} is off by {off:.1e} of the way, not {tolerance:.0e}")


def flat(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def bench_loops() -> None:
    """Whole loops, with clipping. The fused optimizer is the best that a plain loop can have."""
    tasks = (
        Task("MLP 10-32-1, SGD", small, SGD, (32, 10), 1, 1.05, batches=32, rounds=31),
        Task("MLP 10-32-1, AdamW", small, AdamW, (32, 10), 1, 0.75, batches=32, rounds=25),
        Task("200 layers of 16x16, AdamW", partial(chain, 200), AdamW, (32, 16), 16, 0.5),
        Task("transformer, AdamW", transformer, AdamW, (8, 64, 128), 128, 0.97, rounds=11),
    )
    ways: dict[str, Way] = {
        "plain loop": plain,
        "plain loop again (the noise)": plain,
        "Stepper": stepped,
        "Stepper, pack=False": partial(stepped, pack=False),
        "plain loop, fused=True": partial(plain, fused=True),
        "Stepper, fused=True": partial(stepped, fused=True),
    }
    for task in tasks:
        for window in (1, 4):
            must_agree(task, window, ways)
            data = task.data(task.batches)
            all_ways = ways | {"forward and backward alone": bare}
            compare(
                f"{task.name}, windows of {window}, per update",
                {name: partial(way(task, window).run, data) for name, way in all_ways.items()},
                per=task.batches // window,
                rounds=task.rounds,
                goals={"Stepper": task.goal},
            )


def gradient_peak(task: Task, way: Way) -> int:
    """The most bytes of gradients that were alive at once, in three updates.

    The storage of each gradient is noted when it lands in its cell, and counts until it is freed,
    whoever holds it: a gradient that has left its cell and is still kept somewhere counts. A copy
    does not; `memory_peak` sees those.
    """
    noted: dict[int, tuple[StorageWeakRef, int]] = {}
    peak = 0

    def note(parameter: Tensor) -> None:
        nonlocal peak
        if parameter.grad is not None:
            storage = parameter.grad.untyped_storage()
            ref = StorageWeakRef(storage)
            noted[ref.cdata] = ref, storage.nbytes()
        for key in [key for key, (ref, _) in noted.items() if ref.expired()]:
            del noted[key]
        peak = max(peak, sum(size for _, size in noted.values()))

    # Registered before the Stepper's own hooks, so that a gradient is seen before it is spent.
    def model() -> nn.Module:
        model = task.model()
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(note)
        return model

    way(replace(task, model=model), 1).run(task.data(3))
    return peak


def memory_peak(task: Task, way: Way) -> int:
    """The most bytes that were allocated at once, from making the model to its third update.

    As torch's allocator saw it: parameters, moments, activations, and copies that somebody makes.
    """
    data = task.data(3)
    with quiet(), torch.autograd.profiler.profile(profile_memory=True) as profile:
        way(task, 1).run(data)
    events = profile.kineto_results.events()
    return max(accumulate(event.nbytes() for event in events if event.name() == "[memory]"))


@contextmanager
def quiet() -> Iterator[None]:
    """The profiler announces itself on stderr, from below Python."""
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def bench_memory() -> None:
    """Spending each gradient as it arrives. Global clipping would need them all, so it is off."""
    task = Task("24-layer MLP, AdamW", partial(deep, 256), AdamW, (16, 256), 256, clip=None)
    ways: dict[str, Way] = {
        "plain loop": plain,
        "Stepper": stepped,
        'Stepper, release="eager"': partial(stepped, release="eager"),
    }
    must_agree(task, 1, ways)
    title = f"{task.name} (24 of 256x256), most bytes at once"
    peaks = {name: gradient_peak(task, way) for name, way in ways.items()}
    totals = {name: memory_peak(task, way) for name, way in ways.items()}
    print(f"\n{title}")
    for what, sizes in (("of gradients", peaks), ("of everything", totals)):
        for name, size in sizes.items():
            ratio = size / sizes["plain loop"]
            goal = "  goal <= 0.15" if sizes is peaks and "eager" in name else ""
            print(f"  {f'{name}, {what}':<54} {size / 1e6:>7.2f} MB  x{ratio:.2f}{goal}")
    data = task.data(2)
    compare(
        f"{task.name}, no clipping, per update",
        {name: partial(way(task, 1).run, data) for name, way in ways.items()},
        per=2,
    )


def bench_limit() -> None:
    """Clip, step and clear alone, next to a copy that touches as many bytes as they have to.

    An element must be read for the norm (its gradient), read for the step (gradient, parameter,
    two moments) and written (parameter, two moments): 8 passes, so a copy of 4 floats to 4.
    A copy also fetches the lines that it will write, which a step has read anyway: below 1 is not
    magic.
    The Stepper's is its flush() of a window that is still open; the backward is not timed.
    """
    tasks = (
        Task("200 layers of 16x16", partial(chain, 200), AdamW, (32, 16), 16, rounds=41),
        Task("transformer", transformer, AdamW, (1, 8, 128), 128, rounds=31),
        Task("24-layer MLP of 512x512", partial(deep, 512), AdamW, (1, 512), 512, rounds=21),
    )
    for task in tasks:
        work: dict[str, Callable[[], object]] = {}
        before: dict[str, Callable[[], object]] = {}
        ((x, y),) = task.data(1)
        count = 4 * sum(p.numel() for p in task.model().parameters())
        work["a copy of the same bytes (the limit)"] = partial(
            torch.empty(count).copy_, torch.rand(count)
        )
        for name, options in (("", {}), (", fused=True", {"fused": True})):
            plain_name, stepper_name = f"plain{name}", f"Stepper{name}"
            before[plain_name], work[plain_name] = plain_parts(task, x, y, **options)
            before[stepper_name], work[stepper_name] = stepper_parts(task, x, y, **options)
        megabytes = 8 * count / 1e6
        compare(
            f"Clip, AdamW step and clear of {task.name}: {megabytes:.1f} MB to touch",
            work,
            before=before,
            rounds=task.rounds,
        )


def plain_parts(
    task: Task, x: Tensor, y: Tensor, **options: Any
) -> tuple[Callable[[], object], Callable[[], object]]:
    """What brings the gradients, and what spends them."""
    model, optimizer = task.make(**options)

    def spend() -> None:
        clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()

    return lambda: mse_loss(model(x), y).backward(), spend


def stepper_parts(
    task: Task, x: Tensor, y: Tensor, **options: Any
) -> tuple[Callable[[], object], Callable[[], object]]:
    model, optimizer = task.make(**options)
    stepper = Stepper(model, optimizer, accumulate=1_000_000, clip_norm=CLIP)
    return lambda: stepper.backward(mse_loss(model(x), y), items=len(y)), stepper.flush


def bench_growth() -> None:
    """How it grows with the number of parameters (16x16 each, AdamW) and with the window."""
    windows = (1, 4, 16)
    print("\nStepper over plain loop, by number of tensors of 16x16; ms per update in brackets")
    print("  tensors", *(f"{f'windows of {window}':>28}" for window in windows))
    for tensors in (10, 30, 100, 300, 1000):
        task = Task("growth", partial(chain, tensors), AdamW, (32, 16), 16)
        cells = []
        for window in windows:
            data = task.data(window)
            loops = {"plain": plain(task, window), "Stepper": stepped(task, window)}
            rounds = max(3, min(21, 2000 // (tensors * window)))
            rows = measure({n: partial(loop.run, data) for n, loop in loops.items()}, rounds=rounds)
            by_hand, ours = (1e3 * row.seconds for row in rows)
            cells.append(f"x{rows[1].ratio:.2f} ({by_hand:.1f} -> {ours:.1f})")
        print(f"  {tensors:>7}", *(f"{cell:>28}" for cell in cells))


def main() -> None:
    """Everything about the Stepper, on one thread."""
    torch.set_num_threads(1)
    bench_loops()
    bench_memory()
    bench_limit()
    bench_growth()


if __name__ == "__main__":
    sys.exit(main())
