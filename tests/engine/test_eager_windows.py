"""`release="eager"` with windows: exact, and without a second full set of gradients."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import LBFGS, SGD, Adafactor, Adam, AdamW

from benchmarks import peaks
from benchmarks.suites.stepper import plain as plain_loop
from benchmarks.suites.stepper import stepped
from benchmarks.tasks import Task, deep
from gradledger import Stepper
from gradledger.errors import MisuseError, OptionError, StepperWarning
from tests.torch_versions import made

from .loops import (
    Batch,
    Boom,
    MakeOptimizer,
    assert_equal,
    assert_same,
    assert_same_model,
    big_batches,
    failing_in_backward,
    micro_batches,
    mse,
    net,
    unchanged,
    windows,
)

MAKERS: dict[str, MakeOptimizer] = {
    "momentum": lambda ps: SGD(ps, 0.1, momentum=0.9, nesterov=True),
    "adam": lambda ps: Adam(ps, 0.01, amsgrad=True),
    "fused": lambda ps: AdamW(ps, 0.01, fused=True),
    "adafactor": lambda ps: Adafactor(ps),
    "muon": lambda ps: made("Muon", ps, {}),
}


def train(stepper: Stepper, model: nn.Module, data: list[Batch]) -> None:
    for batch in stepper.over(data):
        stepper.backward(mse(model, batch), items=len(batch[1]))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("clip", [{}, {"clip_norm": 0.1}, {"clip_value": 0.01}], ids=str)
def test_it_is_the_window_that_is_released_at_its_end(name: str, clip: dict[str, Any]) -> None:
    ours, theirs = (net(bias=name != "muon") for _ in range(2))
    data = micro_batches(4, 1, 3, 2, 6, 2, 5)
    a, b = MAKERS[name](ours.parameters()), MAKERS[name](theirs.parameters())
    train(Stepper(ours, a, accumulate=3, release="eager", **clip), ours, data)
    train(Stepper(theirs, b, accumulate=3, pack=False, **clip), theirs, data)
    exact = "clip_norm" not in clip  # the norms add up in the order in which they arrived
    assert_same_model(ours, theirs, exact=exact)
    assert_same(a.state_dict(), b.state_dict(), exact=exact)


def test_it_is_one_big_batch() -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2, 6, 2, 5)
    stepper = Stepper(ours, AdamW(ours.parameters(), 0.01), accumulate=3, release="eager")
    train(stepper, ours, data)
    big_batches(theirs, AdamW(theirs.parameters(), 0.01), windows(data, 3))
    assert_same_model(ours, theirs)
    assert stepper.updates == 3
    assert all(p.grad is None for p in ours.parameters())


def test_it_adds_no_more_to_memory_than_the_plain_loop() -> None:
    task = Task("deep", partial(deep, 64), SGD, (1, 64), 64, clip=None)
    theirs = peaks.of_windows(task, plain_loop, 4)
    eager = peaks.of_windows(task, partial(stepped, release="eager"), 4)
    usual = peaks.of_windows(task, partial(stepped, pack=False), 4)
    assert eager <= 1.05 * theirs < usual


def test_a_scaler_is_kept_to() -> None:
    ours, theirs = net(dtype=torch.float32), net(dtype=torch.float32)
    data = [(x.float(), y.float()) for x, y in micro_batches(4, 1, 3, 2)]
    for model, options in ((ours, {"release": "eager"}), (theirs, {"pack": False})):
        scaler = GradScaler("cpu", init_scale=1024.0, growth_interval=1)
        optimizer = SGD(model.parameters(), 0.1)
        train(Stepper(model, optimizer, accumulate=2, scaler=scaler, **options), model, data)
    assert_same_model(ours, theirs, exact=True)


def test_a_window_that_is_not_finite_is_skipped() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2, release="eager")
    data = micro_batches(2, 2)
    data[1][0][0] = torch.nan
    with unchanged(model), pytest.warns(StepperWarning, match="No update"):
        train(stepper, model, data)
    assert stepper.skipped == 1


def test_a_backward_that_fails_half_way_drops_the_window_and_no_other() -> None:
    model, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2, release="eager")
    for at, batch in enumerate(stepper.over(data)):
        if at == 1:
            with pytest.raises(Boom):
                stepper.backward(failing_in_backward(model, batch, Boom()), items=1)
        else:
            stepper.backward(mse(model, batch), items=len(batch[1]))
    assert (stepper.updates, stepper.dropped) == (1, 1)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data[2:], 2))
    assert_same_model(model, theirs)
    assert all(p.grad is None for p in model.parameters())


def test_a_first_micro_batch_that_fails_is_left_out() -> None:
    model, theirs = net(), net()
    data = micro_batches(4, 1)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2, release="eager")
    for at, batch in enumerate(stepper.over(data)):
        if at == 0:
            with pytest.raises(Boom):
                stepper.backward(failing_in_backward(model, batch, Boom()), items=4)
        else:
            stepper.backward(mse(model, batch), items=len(batch[1]))
    assert (stepper.updates, stepper.dropped) == (1, 0)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data[1:], 1))
    assert_same_model(model, theirs)


def test_saved_inside_of_a_window_it_goes_on_bit_for_bit(tmp_path: Path) -> None:
    data = micro_batches(4, 1, 3, 2, 6)

    def make() -> tuple[nn.Module, Stepper]:
        model = net()
        optimizer = AdamW(model.parameters(), 0.01)
        return model, Stepper(model, optimizer, accumulate=3, release="eager")

    theirs, stepper = make()
    train(stepper, theirs, data)
    first, stepper = make()
    for at, batch in enumerate(stepper.over(data)):
        stepper.backward(mse(first, batch), items=len(batch[1]))
        if at == 1:
            stepper.save(tmp_path / "saved")
            break
    ours, stepper = make()
    stepper.load(tmp_path / "saved")
    train(stepper, ours, data)
    assert_same_model(ours, theirs, exact=True)


@pytest.mark.parametrize("sparse", [True, False])
def test_embeddings_of_which_each_batch_uses_a_part_add_up(sparse: bool) -> None:
    def make() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Embedding(6, 3, sparse=sparse), nn.Linear(3, 1)).double()

    ours, theirs = make(), make()
    data = [torch.tensor([0, 1]), torch.tensor([1, 4]), torch.tensor([5, 5])]
    for model, options in ((ours, {"release": "eager"}), (theirs, {"pack": False})):
        stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=3, **options)
        for x in stepper.over(data):
            stepper.backward(model(x).square().mean())
    assert_same_model(ours, theirs, exact=True)


def test_a_hook_on_a_parameter_sees_the_micro_batchs_own_gradient() -> None:
    model = net()
    weight = next(model.parameters())
    seen: list[Tensor] = []

    def hook(p: Tensor) -> None:
        assert p.grad is not None
        seen.append(p.grad.clone())

    weight.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]
    data = micro_batches(2, 2)
    right = [torch.autograd.grad(mse(model, each), [weight])[0] for each in data]
    train(Stepper(model, SGD(model.parameters(), 0.1), accumulate=2, release="eager"), model, data)
    assert_equal(seen, right)


def test_more_losses_of_one_micro_batch_are_refused() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2, release="eager")
    with pytest.raises(MisuseError, match="add the losses up"):
        stepper.backward(mse(model, micro_batches(2)[0]), more=True)


def test_an_optimizer_that_evaluates_the_loss_again_is_refused() -> None:
    model = net()
    with pytest.raises(OptionError, match="evaluates the loss"):
        Stepper(model, LBFGS(model.parameters()), accumulate=2, release="eager")
