"""`release="eager"`: each gradient is spent as it arrives, and the result is the plain loop's."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import LBFGS, SGD, Adafactor, Adam, AdamW, RMSprop
from torch.optim.lr_scheduler import StepLR

from gradledger import Stepper
from gradledger.errors import MisuseError, NonFiniteGradient, OptionError, TornUpdateError

from .loops import (
    Batch,
    Boom,
    Layers,
    MakeOptimizer,
    assert_same,
    assert_same_model,
    failing_in_backward,
    micro_batches,
    mse,
    net,
    plain,
    unchanged,
)

MAKERS: dict[str, MakeOptimizer] = {
    "sgd": lambda ps: SGD(ps, 0.1),
    "momentum": lambda ps: SGD(ps, 0.1, momentum=0.9, nesterov=True),
    "adam": lambda ps: Adam(ps, 0.01, amsgrad=True),
    "adamw": lambda ps: AdamW(ps, 0.01),
    "foreach": lambda ps: AdamW(ps, 0.01, foreach=True),
    "fused": lambda ps: AdamW(ps, 0.01, fused=True),
    "rmsprop": lambda ps: RMSprop(ps, 0.01),
    "adafactor": lambda ps: Adafactor(ps),
}
EACH = pytest.mark.parametrize("name", MAKERS)


def train(stepper: Stepper, model: nn.Module, data: Iterable[Batch]) -> None:
    for batch in stepper.over(data):
        assert stepper.backward(mse(model, batch))


@EACH
def test_it_is_the_plain_loop_bit_for_bit(name: str) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2, 6)
    a, b = MAKERS[name](ours.parameters()), MAKERS[name](theirs.parameters())
    stepper = Stepper(ours, a, release="eager")
    train(stepper, ours, data)
    plain(theirs, b, data)
    assert_same_model(ours, theirs, exact=True)
    assert_same(a.state_dict(), b.state_dict(), exact=True)
    assert stepper.updates == 5
    assert all(p.grad is None for p in ours.parameters())


def test_items_change_nothing_in_a_window_of_one() -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), release="eager")
    for batch in stepper.over(data):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    plain(theirs, SGD(theirs.parameters(), 0.1), data)
    assert_same_model(ours, theirs)


def test_a_tied_weight_is_spent_once_with_all_of_its_gradient() -> None:
    def tied() -> nn.Sequential:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = nn.Sequential(
                nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 5), nn.Linear(5, 3)
            ).double()
        model[2].weight = model[0].weight
        return model

    ours, theirs = tied(), tied()
    data = micro_batches(4, 4, 4)
    a, b = AdamW(ours.parameters(), 0.01), AdamW(theirs.parameters(), 0.01)
    train(Stepper(ours, a, release="eager"), ours, data)
    plain(theirs, b, data)
    assert_same_model(ours, theirs, exact=True)


def test_frozen_and_idle_parameters_stay() -> None:
    ours, theirs = net(), net()
    for model in (ours, theirs):
        model[0].bias.requires_grad_(False)
        model.extra = nn.Linear(2, 2, dtype=torch.float64)  # never used
        nn.init.ones_(model.extra.weight)
        nn.init.ones_(model.extra.bias)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        assert isinstance(model, nn.Sequential)
        out: Tensor = model[2](model[1](model[0](batch[0])))
        return (out - batch[1]).square().mean()

    data = micro_batches(4, 4)
    a, b = AdamW(ours.parameters(), 0.01), AdamW(theirs.parameters(), 0.01)
    stepper = Stepper(ours, a, release="eager")
    for batch in stepper.over(data):
        stepper.backward(loss(ours, batch))
    plain(theirs, b, data, loss=loss)
    assert_same_model(ours, theirs, exact=True)
    assert_same(a.state_dict(), b.state_dict(), exact=True)


def test_a_scheduler_moves_once_per_update() -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 4, 4)
    a, b = SGD(ours.parameters(), 0.1), SGD(theirs.parameters(), 0.1)
    plan = StepLR(a, 1, 0.5)
    train(Stepper(ours, a, release="eager", scheduler=plan), ours, data)
    for batch in data:
        plain(theirs, b, [batch])
        b.param_groups[0]["lr"] *= 0.5
    assert_same_model(ours, theirs, exact=True)
    assert plan.last_epoch == 3


def test_groups_keep_their_settings() -> None:
    def make(model: Layers) -> AdamW:
        return AdamW(
            [
                {"params": model[0].parameters(), "lr": 0.05},
                {"params": model[2].parameters(), "weight_decay": 0.5},
            ],
            0.01,
        )

    ours, theirs = net(), net()
    data = micro_batches(4, 4, 4)
    a, b = make(ours), make(theirs)
    train(Stepper(ours, a, release="eager"), ours, data)
    plain(theirs, b, data)
    assert_same_model(ours, theirs, exact=True)
    assert_same(a.state_dict(), b.state_dict(), exact=True)


def test_few_gradients_are_alive_at_once() -> None:
    """When the first layer's gradient is made, those of the layers after it are gone."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(12)])
    most = 0

    def count(_: Tensor) -> None:
        nonlocal most
        most = max(most, sum(p.grad is not None for p in model.parameters()))

    for p in model.parameters():
        p.register_hook(count)  # type: ignore[no-untyped-call]
    stepper = Stepper(model, AdamW(model.parameters(), 0.01), release="eager")
    stepper.backward(model(torch.ones(2, 4)).square().mean())
    assert most <= 4


BAD: list[dict[str, Any]] = [
    {"clip_norm": 1.0},
    {"scaler": GradScaler("cpu", init_scale=1024.0)},
]


@pytest.mark.parametrize("options", BAD, ids=lambda options: next(iter(options)))
def test_what_can_not_be_exact_is_refused(options: dict[str, Any]) -> None:
    model = net()
    with pytest.raises(OptionError, match="eager") as caught:
        Stepper(model, SGD(model.parameters(), 0.1), release="eager", **options)
    assert isinstance(caught.value, ValueError)
    assert next(iter(options)) in str(caught.value).lower()


def test_an_optimizer_that_needs_all_gradients_at_once_is_refused() -> None:
    model = net()
    with pytest.raises(OptionError, match="LBFGS"):
        Stepper(model, LBFGS(model.parameters()), release="eager")


def test_a_backward_that_fails_half_way_is_told_as_torn() -> None:
    model = net()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    stepper = Stepper(model, SGD(model.parameters(), 0.1), release="eager")
    loss = failing_in_backward(model, micro_batches(4)[0], Boom("gone"))
    with pytest.raises(TornUpdateError) as caught:
        stepper.backward(loss)
    assert isinstance(caught.value.__cause__, Boom)
    assert not torch.equal(model[2].weight, before["2.weight"]), "the premise"
    assert_same(model[0].state_dict(), {key[2:]: before[key] for key in before if key[0] == "0"})
    assert all(p.grad is None for p in model.parameters())


def test_a_backward_that_fails_before_anything_moved_is_not_torn() -> None:
    def fail(_: Tensor) -> None:
        raise Boom

    model = net()
    optimizer = AdamW(model.parameters(), 0.01)
    stepper = Stepper(model, optimizer, release="eager")
    x, y = micro_batches(4)[0]
    out = model(x)
    out.register_hook(fail)
    with unchanged(model, optimizer), pytest.raises(Boom):
        stepper.backward((out - y).square().mean())
    train(stepper, model, micro_batches(4))


@pytest.mark.filterwarnings("ignore::gradledger.errors.StepperWarning")
def test_a_gradient_that_is_not_finite_is_not_spent() -> None:
    model = net()
    optimizer = AdamW(model.parameters(), 0.01)
    stepper = Stepper(model, optimizer, release="eager")
    loss = mse(model, micro_batches(4)[0]) * math.nan
    with unchanged(model, optimizer), contextlib.suppress(NonFiniteGradient):
        assert not stepper.backward(loss)
    assert stepper.updates == 0
    assert all(p.grad is None for p in model.parameters())


def test_a_gradient_that_is_not_finite_after_others_were_spent_is_told_as_torn() -> None:
    model = net()
    stepper = Stepper(model, AdamW(model.parameters(), 0.01), release="eager")
    model[0].weight.register_hook(lambda grad: grad * math.nan)
    with pytest.raises(TornUpdateError, match=r"0\.weight"):
        stepper.backward(mse(model, micro_batches(4)[0]))
    assert all(torch.isfinite(p).all() for p in model.parameters())


def test_several_losses_of_a_micro_batch_are_refused_or_right() -> None:
    ours, theirs = net(), net()
    (batch,) = micro_batches(4)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), release="eager")
    optimizer = SGD(theirs.parameters(), 0.1)
    torch.autograd.backward(mse(theirs, batch) + theirs(batch[0]).exp().mean())
    optimizer.step()
    with unchanged(ours), pytest.raises(Exception, match="eager"):
        stepper.backward(mse(ours, batch), more=True)
    assert stepper.backward(mse(ours, batch) + ours(batch[0]).exp().mean())
    assert_same_model(ours, theirs)


def test_what_did_not_come_through_the_stepper_is_told() -> None:
    model, before = net(), net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), release="eager")
    (batch,) = micro_batches(4)
    torch.autograd.backward(mse(model, batch))
    with pytest.raises(MisuseError, match="did not come through this Stepper"):
        stepper.backward(mse(model, batch))
    assert_same_model(model, before, exact=True)


def test_the_same_loss_twice_is_told() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), release="eager")
    loss = mse(model, micro_batches(4)[0])
    stepper.backward(loss, retain_graph=True)
    with pytest.raises(MisuseError, match="count twice"):
        stepper.backward(loss)
    assert stepper.updates == 1


def test_sparse_gradients_are_clipped_too() -> None:
    weights = []
    for eager in (True, False):
        torch.manual_seed(0)
        table = nn.Embedding(6, 3, sparse=True, dtype=torch.float64)
        optimizer = SGD(table.parameters(), 0.1)
        rows = torch.tensor([1, 1, 4])
        if eager:
            Stepper(table, optimizer, release="eager", clip_value=0.5).backward(table(rows).sum())
        else:
            torch.autograd.backward(table(rows).sum())
            assert table.weight.grad is not None
            table.weight.grad = table.weight.grad.to_dense().clamp(-0.5, 0.5)
            optimizer.step()
        weights.append(table.weight.detach())
    assert torch.equal(*weights)


def test_a_parameter_with_the_id_of_one_that_is_gone_is_trained() -> None:
    model = nn.Linear(2, 2)
    optimizer = SGD(model.parameters(), 0.1)
    stepper = Stepper(model, optimizer, release="eager")
    x, given = torch.randn(4, 2), {id(model.weight)}
    again = False
    for _ in range(50):
        stepper.backward(model(x).mean(), items=4)
        del optimizer.param_groups[0]["params"][0], model.weight
        model.weight = nn.Parameter(torch.randn(2, 2))
        optimizer.param_groups[0]["params"].insert(0, model.weight)
        again |= id(model.weight) in given
        given.add(id(model.weight))
        before = model.weight.detach().clone()
        stepper.backward(model(x).mean(), items=4)
        assert not torch.equal(before, model.weight)
        assert model.weight.grad is None
    assert again
