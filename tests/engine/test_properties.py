"""Whatever the windows, items, faults and clears: one big batch per window, or nothing."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import SGD, AdamW, RMSprop

from gradledger import Stepper
from tests.examples import examples

from .loops import Batch, Boom, MakeOptimizer, assert_same, assert_same_model

OPTIMIZERS: dict[str, MakeOptimizer] = {
    "sgd": lambda ps: SGD(ps, 0.1, weight_decay=0.01),
    "momentum": lambda ps: SGD(ps, 0.1, momentum=0.9, nesterov=True),
    "adamw": lambda ps: AdamW(ps, 0.05, eps=0.1),
    "fused": lambda ps: AdamW(ps, 0.05, eps=0.1, fused=True),
    "rmsprop": lambda ps: RMSprop(ps, 0.05, eps=0.1, momentum=0.5),
}

Fault = Literal["", "forward", "backward", "retried"]


@dataclass(frozen=True)
class Micro:
    """A micro-batch: how many items, which heads it uses, and what befalls it."""

    items: int
    heads: tuple[int, ...]
    fault: Fault
    losses: int
    clear: bool


@dataclass(frozen=True)
class Story:
    """A run."""

    dtype: torch.dtype
    accumulate: int
    optimizer: str
    clip: tuple[str, float] | None
    on_fault: Literal["continue", "drop"]
    scale: float | None
    pack: bool
    micros: tuple[Micro, ...]


micros = st.builds(
    Micro,
    items=st.integers(1, 6),
    heads=st.sampled_from([(0,), (1,), (0, 1), (0, 1)]),
    fault=st.sampled_from(["", "", "", "", "forward", "backward", "retried"]),
    losses=st.sampled_from([1, 1, 2]),
    clear=st.booleans(),
)


def allowed(story: Story) -> Story:
    """Tried again is only what has one loss: of several, nobody knows which are to come."""
    if story.on_fault == "drop":
        return replace(
            story,
            micros=tuple(
                replace(micro, fault="") if micro.fault == "retried" else micro
                for micro in story.micros
            ),
        )
    return replace(
        story,
        micros=tuple(
            replace(micro, losses=1) if micro.fault == "retried" else micro
            for micro in story.micros
        ),
    )


stories = st.builds(
    Story,
    dtype=st.sampled_from([torch.float64, torch.float64, torch.float32]),
    accumulate=st.integers(1, 5),
    optimizer=st.sampled_from(sorted(OPTIMIZERS)),
    clip=st.one_of(
        st.none(),
        st.tuples(st.sampled_from(["norm", "value"]), st.sampled_from([1e-3, 0.1, 1.0, 100.0])),
    ),
    on_fault=st.sampled_from(["continue", "drop"]),
    scale=st.sampled_from([None, None, 1024.0, 3000.0]),
    pack=st.booleans(),
    micros=st.lists(micros, min_size=1, max_size=12).map(tuple),
).map(allowed)


class Net(nn.Module):
    """A body and two heads."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.body = nn.Linear(3, 4)
            self.heads = nn.ModuleList(nn.Linear(4, 2) for _ in range(2))
        self.to(dtype)

    def forward(self, x: Tensor, heads: tuple[int, ...], fail: bool = False) -> Tensor:
        hidden = torch.tanh(self.body(x))
        if fail:

            def boom(_: Tensor) -> None:
                raise Boom

            hidden.register_hook(boom)  # type: ignore[no-untyped-call]
        return torch.stack([self.heads[i](hidden) for i in heads]).sum(0)


def draw_data(story: Story) -> list[Batch]:
    generator = torch.Generator().manual_seed(len(story.micros))

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(story.dtype)

    return [(normal(micro.items, 3), normal(micro.items, 2)) for micro in story.micros]


def losses_of(model: Net, micro: Micro, batch: Batch, fail: bool = False) -> list[Tensor]:
    """The mean losses of a micro-batch; where one fails, it is the last."""
    found = [(model(batch[0], micro.heads) - batch[1]).square().mean()] * (micro.losses - 1)
    out = model(batch[0], micro.heads, fail)
    return [*found, (out - batch[1]).abs().add(1).log().mean()]


def run_stepper(story: Story, data: list[Batch]) -> tuple[Net, torch.optim.Optimizer, Stepper]:
    model = Net(story.dtype)
    optimizer = OPTIMIZERS[story.optimizer](model.parameters())
    kind, limit = story.clip or ("", None)
    stepper = Stepper(
        model,
        optimizer,
        accumulate=story.accumulate,
        clip_norm=limit if kind == "norm" else None,
        clip_value=limit if kind == "value" else None,
        scaler=None if story.scale is None else GradScaler("cpu", init_scale=story.scale),
        on_fault=story.on_fault,
        pack=story.pack,
    )

    def deposit(micro: Micro, batch: Batch, fault: Fault) -> None:
        if fault == "forward":
            raise Boom
        losses = losses_of(model, micro, batch, fault in ("backward", "retried"))
        for i, loss in enumerate(losses):
            stepper.backward(loss, items=micro.items, more=i + 1 < len(losses))

    for i, batch in enumerate(stepper.over(data)):
        micro = story.micros[i]
        if micro.clear and i % story.accumulate == 0:
            optimizer.zero_grad(set_to_none=i % 2 == 0)
        try:
            deposit(micro, batch, micro.fault)
        except Boom:
            if micro.fault == "retried":
                deposit(micro, batch, "")
    return model, optimizer, stepper


def run_plainly(story: Story, data: list[Batch]) -> tuple[Net, torch.optim.Optimizer, list[int]]:
    """One graph and one backward per window. Counts: updates made, windows dropped."""
    model = Net(story.dtype)
    optimizer = OPTIMIZERS[story.optimizer](model.parameters())
    updates = dropped = 0
    for start in range(0, len(data), story.accumulate):
        window = range(start, min(start + story.accumulate, len(data)))
        good = [i for i in window if story.micros[i].fault in ("", "retried")]
        if story.on_fault == "drop" and len(good) < len(window):
            dropped += 1
            continue
        if not good:
            continue
        total = torch.zeros((), dtype=story.dtype)
        for i in good:
            for loss in losses_of(model, story.micros[i], data[i]):
                total = total + loss * story.micros[i].items
        optimizer.zero_grad()
        torch.autograd.backward(total / sum(story.micros[i].items for i in good))
        if story.clip is not None:
            kind, limit = story.clip
            if kind == "norm":
                nn.utils.clip_grad_norm_(model.parameters(), limit)
            else:
                nn.utils.clip_grad_value_(model.parameters(), limit)
        optimizer.step()
        updates += 1
    return model, optimizer, [updates, dropped]


@examples(60)
@pytest.mark.filterwarnings("ignore:the data has ended")
@given(stories)
def test_every_run_is_its_big_batches(story: Story) -> None:
    data = draw_data(story)
    ours, a, stepper = run_stepper(story, data)
    theirs, b, counts = run_plainly(story, data)
    tolerance = 1e-12 if story.dtype == torch.float64 else 1e-5
    assert_same_model(ours, theirs, tolerance=tolerance)
    assert_same(a.state_dict(), b.state_dict(), tolerance=tolerance)
    assert [stepper.updates, stepper.dropped] == counts
    assert (stepper.skipped, stepper.micro_batches, stepper.epoch) == (0, 0, 1)
    assert all(p.grad is None for p in ours.parameters())


@examples(40)
@pytest.mark.filterwarnings("ignore:the data has ended")
@given(stories)
def test_packing_changes_nothing(story: Story) -> None:
    data = draw_data(story)
    packed, a, _ = run_stepper(replace(story, pack=True), data)
    loose, b, _ = run_stepper(replace(story, pack=False), data)
    tolerance = 1e-13 if story.dtype == torch.float64 else 1e-6
    assert_same_model(packed, loose, tolerance=tolerance)
    assert_same(a.state_dict(), b.state_dict(), tolerance=tolerance)


@examples(40)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=12),
    accumulate=st.integers(1, 4),
    bad=st.sets(st.integers(0, 11)),
    pack=st.booleans(),
)
def test_every_window_not_finite_is_skipped_and_no_other(
    sizes: list[int], accumulate: int, bad: set[int], pack: bool
) -> None:
    story = Story(
        dtype=torch.float64,
        accumulate=accumulate,
        optimizer="adamw",
        clip=("norm", 0.1),
        on_fault="continue",
        scale=None,
        pack=pack,
        micros=tuple(Micro(size, (0, 1), "", 1, False) for size in sizes),
    )
    data = draw_data(story)
    model = Net(torch.float64)
    optimizer = OPTIMIZERS["adamw"](model.parameters())
    plan = torch.optim.lr_scheduler.StepLR(optimizer, 1, 1.0)
    scaler = GradScaler("cpu", init_scale=1024.0)
    stepper = Stepper(
        model,
        optimizer,
        accumulate=accumulate,
        clip_norm=0.1,
        scaler=scaler,
        scheduler=plan,
        pack=pack,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, batch in enumerate(stepper.over(data)):
            (loss,) = losses_of(model, story.micros[i], batch)
            stepper.backward(loss * (math.nan if i in bad else 1.0), items=story.micros[i].items)
    each = [range(i, min(i + accumulate, len(sizes))) for i in range(0, len(sizes), accumulate)]
    good = [window for window in each if not bad & set(window)]
    theirs = Net(torch.float64)
    other = OPTIMIZERS["adamw"](theirs.parameters())
    for window in good:
        other.zero_grad()
        total = torch.zeros((), dtype=torch.float64)
        for i in window:
            total = total + losses_of(theirs, story.micros[i], data[i])[0] * sizes[i]
        torch.autograd.backward(total / sum(sizes[i] for i in window))
        nn.utils.clip_grad_norm_(theirs.parameters(), 0.1)
        other.step()
    assert_same_model(model, theirs)
    assert (stepper.updates, stepper.skipped) == (len(good), len(each) - len(good))
    assert plan.last_epoch == len(good)
    assert scaler.get_scale() == 1024.0 * 0.5 ** (len(each) - len(good))
