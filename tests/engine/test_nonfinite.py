"""A window with NaN or Inf in it makes no update, and says who it was."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import SGD, AdamW, Optimizer
from torch.optim.lr_scheduler import StepLR

from gradledger import Stepper
from gradledger.errors import GradledgerError, NonFiniteGradient, StepperWarning

from .loops import (
    Batch,
    Layers,
    MakeOptimizer,
    assert_same,
    assert_same_model,
    big_batches,
    micro_batches,
    mse,
    net,
    unchanged,
    windows,
)

PACK = pytest.mark.parametrize("pack", [True, False], ids=["packed", "loose"])
BAD = pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf], ids=str)
MakeScaler: TypeAlias = Callable[[], GradScaler | None]
SCALERS: list[MakeScaler] = [
    lambda: None,
    lambda: GradScaler("cpu", init_scale=1024.0),
    lambda: GradScaler("cpu", enabled=False),
]
SCALED = pytest.mark.parametrize("make_scaler", SCALERS, ids=["plain", "scaled", "disabled"])
MAKERS: list[MakeOptimizer] = [
    lambda ps: SGD(ps, 0.1, momentum=0.9, weight_decay=0.1),
    lambda ps: AdamW(ps, 0.01, eps=1e-3),
    lambda ps: AdamW(ps, 0.01, eps=1e-3, fused=True),
]
EACH = pytest.mark.parametrize("make", MAKERS, ids=["momentum", "adamw", "fused"])
# A skip is told, except where a scaler's backing off is what everybody expects.
MAY_WARN = pytest.mark.filterwarnings("ignore::gradledger.errors.StepperWarning")


def only_first_weight(model: Layers, batch: Batch, bad: float) -> Tensor:
    """The loss is finite, and the gradient too, but for that of the first layer's weight."""

    def spoil(grad: Tensor) -> Tensor:
        return grad * bad

    loss = mse(model, batch)
    handle = model[0].weight.register_hook(spoil)
    removing.append(handle.remove)
    return loss


removing: list[Callable[[], None]] = []


@MAY_WARN
@PACK
@SCALED
@EACH
@BAD
@pytest.mark.parametrize("at", [0, 3])
def test_the_step_is_skipped_and_all_else_goes_on(
    at: int, bad: float, make: MakeOptimizer, make_scaler: MakeScaler, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2, 6, 5)
    a, b = make(ours.parameters()), make(theirs.parameters())
    first, second = StepLR(a, 1, 0.9), StepLR(b, 1, 0.9)
    stepper = Stepper(
        ours, a, accumulate=2, scaler=make_scaler(), scheduler=first, clip_norm=0.5, pack=pack
    )
    for i, batch in enumerate(stepper.over(data)):
        loss = mse(ours, batch) * (bad if i == at else 1.0)
        stepper.backward(loss, items=len(batch[1]))
    good = [window for i, window in enumerate(windows(data, 2)) if i != at // 2]
    big_batches(theirs, b, good, scheduler=second, clip_norm=0.5)
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())
    assert first.last_epoch == second.last_epoch == 2
    assert (stepper.updates, stepper.skipped, stepper.dropped) == (2, 1, 0)
    assert all(p.grad is None for p in ours.parameters())


@MAY_WARN
@PACK
@SCALED
@BAD
def test_weights_moments_and_scheduler_are_untouched_bit_for_bit(
    bad: float, make_scaler: MakeScaler, pack: bool
) -> None:
    model = net()
    first, second, third = micro_batches(4, 2, 3)
    optimizer = AdamW(model.parameters(), 0.01)
    plan = StepLR(optimizer, 1, 0.5)
    stepper = Stepper(model, optimizer, scaler=make_scaler(), scheduler=plan, pack=pack)
    assert stepper.backward(mse(model, first), items=4)
    before = plan.state_dict()
    with unchanged(model, optimizer):
        assert not stepper.backward(mse(model, second) * bad, items=2)
    assert plan.state_dict() == before
    assert (stepper.updates, stepper.skipped) == (1, 1)
    assert stepper.backward(mse(model, third), items=3)
    assert (stepper.updates, stepper.skipped) == (2, 1)


def test_a_skip_is_told_once() -> None:
    model = net()
    data = micro_batches(4, 4, 4)
    stepper = Stepper(model, SGD(model.parameters(), 0.1))

    def loop() -> None:
        for batch in stepper.over(data):
            stepper.backward(mse(model, batch) * math.nan, items=4)

    with pytest.warns(StepperWarning) as told:
        loop()
    assert 1 <= len(told) <= 3
    assert stepper.skipped == 3


@MAY_WARN
@PACK
@SCALED
@BAD
def test_the_culprit_is_named(bad: float, make_scaler: MakeScaler, pack: bool) -> None:
    model = net()
    first, second, third = micro_batches(4, 2, 3)
    optimizer = SGD(model.parameters(), 0.1)
    stepper = Stepper(model, optimizer, accumulate=2, scaler=make_scaler(), pack=pack)
    assert not stepper.skipped
    stepper.backward(mse(model, first), items=4)
    with unchanged(model, optimizer):
        assert not stepper.backward(only_first_weight(model, second, bad), items=2)
    removing.pop()()
    skip = stepper.last_skip
    assert skip is not None
    assert list(skip.parameters) == ["0.weight"]
    assert list(skip.micro_batches) == []
    assert skip.update == 0
    stepper.backward(mse(model, third), items=3)
    assert stepper.flush()
    assert stepper.last_skip == skip
    for _ in range(2):
        stepper.backward(mse(model, third) * bad, items=3)
    assert stepper.last_skip is not None
    assert sorted(stepper.last_skip.parameters) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert stepper.last_skip.update == 1


@MAY_WARN
@PACK
@pytest.mark.parametrize("at", [0, 1, 2])
def test_the_micro_batch_whose_loss_was_not_finite_is_named(at: int, pack: bool) -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=3, pack=pack)
    for _ in range(2):
        for i, batch in enumerate(stepper.over(micro_batches(4, 2, 3))):
            stepper.backward(
                mse(model, batch) * (math.nan if i == at else 1.0), items=len(batch[1])
            )
        assert stepper.last_skip is not None
        assert list(stepper.last_skip.micro_batches) == [at]


@MAY_WARN
@PACK
def test_all_micro_batches_whose_losses_were_not_finite_are_named(pack: bool) -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=4, pack=pack)
    for i, batch in enumerate(stepper.over(micro_batches(4, 2, 3, 1))):
        stepper.backward(mse(model, batch) * (math.inf if i in (1, 3) else 1.0), items=1)
    assert stepper.last_skip is not None
    assert list(stepper.last_skip.micro_batches) == [1, 3]


@PACK
@SCALED
def test_it_raises_when_told_so(make_scaler: MakeScaler, pack: bool) -> None:
    ours, theirs = net(), net()
    first, second, third = micro_batches(4, 2, 3)
    make: MakeOptimizer = lambda ps: SGD(ps, 0.1, momentum=0.9)  # noqa: E731
    a, b = make(ours.parameters()), make(theirs.parameters())
    plan = StepLR(a, 1, 0.5)
    stepper = Stepper(
        ours, a, scaler=make_scaler(), scheduler=plan, on_nonfinite="raise", pack=pack
    )
    assert stepper.backward(mse(ours, first), items=4)
    loss = only_first_weight(ours, second, math.nan)
    with unchanged(ours, a), pytest.raises(NonFiniteGradient, match=r"0\.weight") as caught:
        stepper.backward(loss, items=2)
    removing.pop()()
    assert isinstance(caught.value, GradledgerError)
    assert (stepper.updates, stepper.skipped, stepper.micro_batches) == (1, 1, 0)
    assert plan.last_epoch == 1
    assert stepper.last_skip is not None
    assert list(stepper.last_skip.parameters) == ["0.weight"]
    assert stepper.backward(mse(ours, third), items=3)
    scheduler = StepLR(b, 1, 0.5)
    big_batches(theirs, b, [[first], [third]], scheduler=scheduler)
    assert_same_model(ours, theirs)


@PACK
def test_it_raises_at_the_end_of_the_data_too(pack: bool) -> None:
    model = net()
    optimizer = SGD(model.parameters(), 0.1)
    stepper = Stepper(model, optimizer, accumulate=3, on_nonfinite="raise", pack=pack)

    def loop() -> None:
        for batch in stepper.over(micro_batches(4, 2)):
            stepper.backward(mse(model, batch) * math.nan, items=len(batch[1]))

    with unchanged(model, optimizer), pytest.raises(NonFiniteGradient):
        loop()
    assert stepper.micro_batches == 0


@PACK
def test_it_raises_in_flush_too(pack: bool) -> None:
    model = net()
    stepper = Stepper(
        model, SGD(model.parameters(), 0.1), accumulate=3, on_nonfinite="raise", pack=pack
    )
    stepper.backward(mse(model, micro_batches(4)[0]) * math.inf, items=4)
    with pytest.raises(NonFiniteGradient):
        stepper.flush()
    assert not stepper.flush()


@PACK
@pytest.mark.parametrize("clip", [None, 0.5])
def test_nothing_is_checked_when_told_so(clip: float | None, pack: bool) -> None:
    ours, theirs = net(), net()
    (batch,) = micro_batches(4)
    a, b = SGD(ours.parameters(), 0.1, momentum=0.9), SGD(theirs.parameters(), 0.1, momentum=0.9)
    stepper = Stepper(ours, a, on_nonfinite="allow", clip_norm=clip, pack=pack)
    assert stepper.backward(mse(ours, batch) * math.nan, items=4)
    assert (stepper.updates, stepper.skipped) == (1, 0)
    assert stepper.last_skip is None
    torch.autograd.backward(mse(theirs, batch).mul(math.nan))
    b.step()
    assert_same_model(ours, theirs, exact=True)


@PACK
def test_a_finite_run_is_the_same_whether_checked_or_not(pack: bool) -> None:
    models = [net() for _ in range(3)]
    data = micro_batches(4, 1, 3, 2)
    choices: list[Literal["skip", "raise", "allow"]] = ["skip", "raise", "allow"]
    for model, choice in zip(models, choices, strict=True):
        optimizer = AdamW(model.parameters(), 0.01)
        stepper = Stepper(model, optimizer, accumulate=2, on_nonfinite=choice, pack=pack)
        for batch in stepper.over(data):
            stepper.backward(mse(model, batch), items=len(batch[1]))
    assert_same_model(models[0], models[1], exact=True)
    assert_same_model(models[0], models[2], exact=True)


@MAY_WARN
@PACK
@SCALED
def test_of_several_optimizers_all_step_or_none(make_scaler: MakeScaler, pack: bool) -> None:
    model = nn.ModuleDict({"a": net(1), "b": net(2)})
    both: list[Optimizer] = [
        SGD(model["a"].parameters(), 0.1, momentum=0.9),
        AdamW(model["b"].parameters(), 0.01),
    ]
    plans = [StepLR(each, 1, 0.5) for each in both]
    stepper = Stepper(model, both, scaler=make_scaler(), scheduler=plans, pack=pack)
    good, bad = micro_batches(4, 2)
    assert stepper.backward(mse(model["a"], good) + mse(model["b"], good), items=4)
    for spoiled in ("a", "b"):
        other = "b" if spoiled == "a" else "a"
        loss = mse(model[spoiled], bad) * math.nan + mse(model[other], bad)
        with unchanged(model, *both):
            assert not stepper.backward(loss, items=2)
        assert stepper.last_skip is not None
        assert {name.split(".")[0] for name in stepper.last_skip.parameters} == {spoiled}
    assert [plan.last_epoch for plan in plans] == [1, 1]
    assert (stepper.updates, stepper.skipped) == (1, 2)


@MAY_WARN
def test_a_scaler_backs_off_once_per_window_not_finite() -> None:
    model = net()
    scaler = GradScaler("cpu", init_scale=1024.0)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2, scaler=scaler)
    for i, batch in enumerate(stepper.over(micro_batches(*[2] * 6))):
        stepper.backward(mse(model, batch) * (math.inf if i in (0, 1, 5) else 1.0), items=2)
    assert scaler.get_scale() == 256.0
    assert (stepper.updates, stepper.skipped) == (1, 2)


@MAY_WARN
@PACK
def test_a_sparse_gradient_is_checked(pack: bool) -> None:
    table = nn.Embedding(9, 3, sparse=True)
    optimizer = SGD(table.parameters(), 0.1)
    stepper = Stepper(table, optimizer, accumulate=2, pack=pack)
    with unchanged(table, optimizer):
        for factor in (1.0, math.nan):
            stepper.backward(table(torch.tensor([1, 2])).square().mean() * factor, items=2)
    assert stepper.skipped == 1
    assert stepper.last_skip is not None
    assert list(stepper.last_skip.parameters) == ["weight"]


@MAY_WARN
@PACK
def test_finite_gradients_whose_norm_overflows_are_not_stepped_into_nan(pack: bool) -> None:
    """float32 squares of 1e30 are infinite; torch's norm is too. No weight becomes NaN."""
    model = nn.Linear(3, 1, bias=False)
    optimizer = SGD(model.parameters(), 1e-30)
    stepper = Stepper(model, optimizer, clip_norm=1.0, pack=pack)
    stepper.backward(model(torch.full((1, 3), 1e30)).mean(), items=1)
    assert all(torch.isfinite(p).all() for p in model.parameters())


@PACK
def test_large_finite_gradients_are_no_skip(pack: bool) -> None:
    """A check that sums or squares float32 would call this infinite."""
    model = nn.Linear(3, 1, bias=False)
    with torch.no_grad():
        model.weight.zero_()
    stepper = Stepper(model, SGD(model.parameters(), 1e-30), pack=pack)
    assert stepper.backward(model(torch.full((1, 3), 2e38)).mean(), items=1)
    torch.testing.assert_close(model.weight.detach(), torch.full((1, 3), -2e8))


def test_before_the_first_skip_there_is_none() -> None:
    model = net()
    assert Stepper(model, SGD(model.parameters(), 0.1)).last_skip is None
