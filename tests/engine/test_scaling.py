"""Scaling, clipping and the norm: torch's own functions are the oracle."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.optim import SGD, AdamW, Optimizer
from torch.optim.lr_scheduler import StepLR

from gradledger import Stepper
from gradledger.errors import MisuseError, StepperWarning

from .loops import (
    Batch,
    Layers,
    MakeOptimizer,
    assert_same,
    assert_same_model,
    big_batches,
    merged,
    micro_batches,
    mse,
    net,
    parameters_of,
    unchanged,
    windows,
)

PACK = pytest.mark.parametrize("pack", [True, False], ids=["packed", "loose"])


@contextmanager
def skips_may_be_told() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepperWarning)
        yield


def low_precision(model: nn.Module, batch: Batch, dtype: torch.dtype) -> Tensor:
    with torch.autocast("cpu", dtype):
        out = model(batch[0])
    loss: Tensor = (out.float() - batch[1]).square().mean()
    return loss


def scaled_by_hand(
    model: nn.Module,
    optimizer: Optimizer,
    scaler: GradScaler,
    each: Sequence[Sequence[Batch]],
    dtype: torch.dtype,
    clip: float,
) -> None:
    """The loop of torch's AMP page, for equal micro-batches."""
    for window in each:
        for batch in window:
            torch.autograd.backward(scaler.scale(low_precision(model, batch, dtype) / len(window)))
        scaler.unscale_(optimizer)
        clip_grad_norm_(parameters_of(optimizer), clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


@PACK
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("clip", [0.05, 1e6])
@pytest.mark.parametrize("accumulate", [1, 4])
def test_low_precision_equals_the_loop_by_hand(
    accumulate: int, clip: float, dtype: torch.dtype, pack: bool
) -> None:
    ours, theirs = net(dtype=torch.float32), net(dtype=torch.float32)
    data = micro_batches(*[4] * 8, dtype=torch.float32)
    make: MakeOptimizer = lambda ps: SGD(ps, 0.1, momentum=0.9)  # noqa: E731
    a, b = make(ours.parameters()), make(theirs.parameters())
    one, two = (GradScaler("cpu", init_scale=1024.0, growth_interval=2) for _ in range(2))
    stepper = Stepper(ours, a, accumulate=accumulate, clip_norm=clip, scaler=one, pack=pack)
    for batch in stepper.over(data):
        stepper.backward(low_precision(ours, batch, dtype), items=4)
    scaled_by_hand(theirs, b, two, windows(data, accumulate), dtype, clip)
    assert_same_model(ours, theirs, tolerance=1e-6)
    assert one.get_scale() == two.get_scale() > 1024.0
    assert one.state_dict() == two.state_dict()


@PACK
def test_a_scale_that_overflows_backs_off_as_torch_does(pack: bool) -> None:
    ours, theirs = net(dtype=torch.float32), net(dtype=torch.float32)
    data = micro_batches(*[4] * 10, dtype=torch.float32)
    a, b = AdamW(ours.parameters(), 0.01), AdamW(theirs.parameters(), 0.01)
    one, two = (GradScaler("cpu", init_scale=2.0**24, growth_interval=3) for _ in range(2))
    plan = StepLR(a, 1, 0.99999)
    stepper = Stepper(ours, a, clip_norm=0.5, scaler=one, scheduler=plan, pack=pack)
    with skips_may_be_told():
        for batch in stepper.over(data):
            stepper.backward(low_precision(ours, batch, torch.float16))
    skips = 0
    for batch in data:
        torch.autograd.backward(two.scale(low_precision(theirs, batch, torch.float16)))
        two.unscale_(b)
        clip_grad_norm_(theirs.parameters(), 0.5)
        two.step(b)
        scale = two.get_scale()
        two.update()
        b.zero_grad()
        if two.get_scale() < scale:
            skips += 1
        else:
            b.param_groups[0]["lr"] *= 0.99999
    assert 0 < skips < 10
    assert (stepper.skipped, stepper.updates) == (skips, 10 - skips)
    assert plan.last_epoch == 10 - skips
    assert one.state_dict() == two.state_dict()
    assert_same_model(ours, theirs, tolerance=1e-5)


@PACK
@pytest.mark.parametrize("clip", [None, 0.05, 1e6])
def test_scale_weight_and_clip_cancel_exactly(clip: float | None, pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2, 6, 5, 1)
    scaler = GradScaler("cpu", init_scale=3.0e4, growth_interval=1, growth_factor=1.7)
    stepper = Stepper(
        ours,
        SGD(ours.parameters(), 0.1, momentum=0.9),
        accumulate=3,
        clip_norm=clip,
        scaler=scaler,
        pack=pack,
    )
    for batch in stepper.over(data):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    big_batches(
        theirs,
        SGD(theirs.parameters(), 0.1, momentum=0.9),
        windows(data, 3),
        clip_norm=math.inf if clip is None else clip,
    )
    assert_same_model(ours, theirs)


@PACK
def test_a_disabled_scaler_changes_nothing(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2)
    stepper = Stepper(
        ours,
        SGD(ours.parameters(), 0.1),
        accumulate=2,
        clip_norm=0.1,
        scaler=GradScaler("cpu", enabled=False),
        pack=pack,
    )
    for batch in stepper.over(data):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data, 2), clip_norm=0.1)
    assert_same_model(ours, theirs)


@PACK
@pytest.mark.parametrize("make", [lambda ps: SGD(ps, 0.1), lambda ps: AdamW(ps, 0.1, fused=True)])
def test_a_change_of_scale_inside_a_window_is_told_or_right(
    make: MakeOptimizer, pack: bool
) -> None:
    """The user calls `update`, against the page, or loads a state into the scaler."""
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3)
    scaler = GradScaler("cpu", init_scale=1024.0)
    stepper = Stepper(ours, make(ours.parameters()), accumulate=3, scaler=scaler, pack=pack)
    try:
        for i, batch in enumerate(stepper.over(data)):
            stepper.backward(mse(ours, batch), items=len(batch[1]))
            if i == 0:
                scaler.update(64.0)
    except MisuseError:
        assert_same_model(ours, theirs, exact=True)
    else:
        big_batches(theirs, make(theirs.parameters()), windows(data, 3))
        assert_same_model(ours, theirs)


@PACK
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("clip", [None, 1.0])
def test_an_overflow_on_the_very_first_step_leaves_no_moments(
    clip: float | None, fused: bool, pack: bool
) -> None:
    ours, theirs = net(dtype=torch.float32), net(dtype=torch.float32)
    data = micro_batches(4, 4, 4, dtype=torch.float32)
    a = SGD(ours.parameters(), 0.1, momentum=0.9, fused=fused)
    b = SGD(theirs.parameters(), 0.1, momentum=0.9, fused=fused)
    scaler = GradScaler("cpu", init_scale=1024.0)
    stepper = Stepper(ours, a, scaler=scaler, clip_norm=clip, pack=pack)
    with skips_may_be_told(), unchanged(ours, a):
        assert not stepper.backward(mse(ours, data[0]) * math.inf, items=4)
    assert stepper.skipped == 1
    assert scaler.get_scale() == 512.0
    for batch in data:
        assert stepper.backward(mse(ours, batch), items=4)
    big_batches(
        theirs, b, [[batch] for batch in data], clip_norm=math.inf if clip is None else clip
    )
    assert_same_model(ours, theirs, tolerance=1e-6)
    assert_same(a.state_dict(), b.state_dict(), tolerance=1e-6)


@PACK
@pytest.mark.parametrize("limit", [1e-3, 0.05, 0.5, 1e6])
def test_clip_by_norm_is_torchs(limit: float, pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2, 6)
    a, b = SGD(ours.parameters(), 0.1, momentum=0.9), SGD(theirs.parameters(), 0.1, momentum=0.9)
    stepper = Stepper(ours, a, accumulate=2, clip_norm=limit, pack=pack)
    for batch in stepper.over(data):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    big_batches(theirs, b, windows(data, 2), clip_norm=limit)
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())


@PACK
@pytest.mark.parametrize("scaler", [None, GradScaler("cpu", init_scale=1000.0)])
@pytest.mark.parametrize("limit", [1e-3, 0.05, 1e6])
def test_clip_by_value_is_torchs(limit: float, scaler: GradScaler | None, pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2, 6)
    stepper = Stepper(
        ours,
        SGD(ours.parameters(), 0.1),
        accumulate=2,
        clip_value=limit,
        scaler=scaler,
        pack=pack,
    )
    for batch in stepper.over(data):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    optimizer = SGD(theirs.parameters(), 0.1)
    for window in windows(data, 2):
        torch.autograd.backward(mse(theirs, merged(window)))
        clip_grad_value_(theirs.parameters(), limit)
        optimizer.step()
        optimizer.zero_grad()
    assert_same_model(ours, theirs)


@PACK
@pytest.mark.parametrize("limits", [(0.05, 0.02), (0.05, None), (None, 0.02), (1e6, 1e-3)])
def test_each_group_is_clipped_by_its_own_norm(
    limits: tuple[float | None, float | None], pack: bool
) -> None:
    def make(model: Layers) -> Optimizer:
        groups = [{"params": list(model[0].parameters())}, {"params": list(model[2].parameters())}]
        return SGD(groups, 0.1)

    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2, 6)
    stepper = Stepper(ours, make(ours), accumulate=2, clip_norm=list(limits), pack=pack)
    optimizer = make(theirs)
    for window in windows(data, 2):
        for batch in window:
            stepper.backward(mse(ours, batch), items=len(batch[1]))
        stepper.flush()
        torch.autograd.backward(mse(theirs, merged(window)))
        assert_norm(stepper, theirs)
        for group, limit in zip(optimizer.param_groups, limits, strict=True):
            if limit is not None:
                clip_grad_norm_(group["params"], limit)
        optimizer.step()
        optimizer.zero_grad()
    assert_same_model(ours, theirs)


def assert_norm(stepper: Stepper, model: nn.Module) -> None:
    """The norm that the Stepper tells is that of the gradients in the model's cells."""
    expected = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    assert stepper.grad_norm is not None
    assert float(stepper.grad_norm) == pytest.approx(float(expected), rel=1e-12)


@PACK
@pytest.mark.parametrize("scale", [None, 3.0e4])
@pytest.mark.parametrize(
    "clip", [{}, {"clip_norm": 0.01}, {"clip_norm": 1e6}, {"clip_value": 0.01}]
)
def test_the_norm_is_that_of_the_window_before_clipping(
    clip: dict[str, float], scale: float | None, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2, 6)
    scaler = None if scale is None else GradScaler("cpu", init_scale=scale)
    stepper = Stepper(
        ours,
        SGD(ours.parameters(), 0.0),
        accumulate=2,
        scaler=scaler,
        pack=pack,
        clip_norm=clip.get("clip_norm"),
        clip_value=clip.get("clip_value"),
    )
    assert stepper.grad_norm is None
    for window in windows(data, 2):
        for batch in window:
            stepper.backward(mse(ours, batch), items=len(batch[1]))
        stepper.flush()
        torch.autograd.backward(mse(theirs, merged(window)))
        assert_norm(stepper, theirs)
        theirs.zero_grad()


@PACK
def test_the_norm_may_be_read_late_and_twice(pack: bool) -> None:
    ours, theirs = net(), net()
    first, second = micro_batches(4, 2)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.0), clip_norm=0.1, pack=pack)
    torch.autograd.backward(mse(theirs, first))
    assert stepper.backward(mse(ours, first), items=4)
    assert_norm(stepper, theirs)
    assert_norm(stepper, theirs)
    before = float(stepper.grad_norm or 0.0)
    kept = stepper.grad_norm
    assert stepper.backward(mse(ours, second), items=2)
    assert float(kept or 0.0) == before
    assert float(stepper.grad_norm or 0.0) != before


@PACK
def test_the_norm_of_a_window_not_finite_is_not_finite(pack: bool) -> None:
    model = net()
    (batch,) = micro_batches(4)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), clip_norm=1.0, pack=pack)
    with skips_may_be_told():
        stepper.backward(mse(model, batch) * math.nan, items=4)
    assert stepper.grad_norm is not None
    assert not math.isfinite(float(stepper.grad_norm))


class Weights(nn.Module):
    """Numbers in low precision, whose gradient a test can choose."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.values = nn.Parameter(torch.zeros(5, dtype=dtype))
        self.other = nn.Parameter(torch.zeros(2, 3, dtype=dtype))

    def forward(self, slope: float) -> Tensor:
        return (self.values.sum() + self.other.sum()) * slope


@PACK
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_three_hundred_gradients_of_one_have_the_mean_one(dtype: torch.dtype, pack: bool) -> None:
    model = Weights(dtype)
    stepper = Stepper(model, SGD(model.parameters(), 1.0), accumulate=300, pack=pack)
    for _ in stepper.over(range(300)):
        stepper.backward(model(1.0))
    assert stepper.updates == 1
    for p in model.parameters():
        assert p.dtype == dtype
        assert torch.equal(p, torch.full_like(p, -1.0))


@PACK
def test_small_gradients_are_not_lost_beside_a_large_one(pack: bool) -> None:
    model = Weights(torch.bfloat16)
    stepper = Stepper(model, SGD(model.parameters(), 1.0), accumulate=257, pack=pack)
    for i in stepper.over(range(257)):
        stepper.backward(model(1.0 if i == 0 else 2.0**-8), items=1)
    expected = torch.tensor(-2 / 257, dtype=torch.bfloat16)
    assert all(torch.equal(p, expected.expand_as(p)) for p in model.parameters())


@PACK
def test_items_that_low_precision_can_not_count_are_counted(pack: bool) -> None:
    """257 and 1001 are no bfloat16 numbers: weighing in bfloat16 would round them."""
    model = Weights(torch.bfloat16)
    stepper = Stepper(model, SGD(model.parameters(), 1.0), accumulate=2, pack=pack)
    for slope, items in stepper.over([(1.0, 257), (3.0, 1001)]):
        stepper.backward(model(slope), items=items)
    expected = torch.tensor(-(257 + 3003) / 1258, dtype=torch.bfloat16)
    assert all(torch.equal(p, expected.expand_as(p)) for p in model.parameters())


@PACK
def test_sums_that_half_precision_can_not_hold_are_no_overflow(pack: bool) -> None:
    model = Weights(torch.float16)
    stepper = Stepper(model, SGD(model.parameters(), 2.0**-15), accumulate=4, pack=pack)
    for _ in stepper.over(range(4)):
        stepper.backward(model(32768.0), items=1000)
    assert (stepper.updates, stepper.skipped) == (1, 0)
    assert all(torch.equal(p, torch.full_like(p, -1.0)) for p in model.parameters())


@PACK
def test_parameters_of_two_precisions_are_trained_together(pack: bool) -> None:
    model = nn.ModuleDict({"low": Weights(torch.bfloat16), "high": Weights(torch.float64)})
    stepper = Stepper(model, SGD(model.parameters(), 1.0), accumulate=3, pack=pack)
    for _ in stepper.over(range(3)):
        stepper.backward(model["low"](1.0).double() + model["high"](2.0))
    assert all(torch.equal(p, torch.full_like(p, -1.0)) for p in model["low"].parameters())
    assert all(torch.equal(p, torch.full_like(p, -2.0)) for p in model["high"].parameters())
