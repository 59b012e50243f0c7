"""Misuse is told, and breaks nothing."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import SGD, AdamW
from torch.optim.lr_scheduler import StepLR

from gradledger import Stepper
from gradledger.errors import (
    GradledgerError,
    LossError,
    MisuseError,
    OptionError,
    StepperWarning,
)

from .loops import assert_same_model, big_batches, micro_batches, mse, net, unchanged, windows

PACK = pytest.mark.parametrize("pack", [True, False], ids=["packed", "loose"])
DATA = micro_batches(4, 2, 3)


@PACK
@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad_inside_a_window_is_told_and_loses_nothing(set_to_none: bool, pack: bool) -> None:
    ours, theirs = net(), net()
    optimizer = SGD(ours.parameters(), 0.1)
    stepper = Stepper(ours, optimizer, accumulate=3, pack=pack)
    for i, batch in enumerate(stepper.over(DATA)):
        if i > 0:
            with pytest.raises(MisuseError, match="zero_grad"):
                optimizer.zero_grad(set_to_none)
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(DATA, 3))
    assert_same_model(ours, theirs)


@PACK
def test_step_inside_a_window_is_told_and_moves_nothing(pack: bool) -> None:
    ours, theirs = net(), net()
    optimizer = AdamW(ours.parameters(), 0.1, eps=1e-3)
    stepper = Stepper(ours, optimizer, accumulate=3, pack=pack)
    for i, batch in enumerate(stepper.over(DATA)):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
        if i < 2:
            with unchanged(ours, optimizer), pytest.raises(MisuseError, match="step"):
                optimizer.step()
    big_batches(theirs, AdamW(theirs.parameters(), 0.1, eps=1e-3), windows(DATA, 3))
    assert_same_model(ours, theirs)


@PACK
def test_model_zero_grad_inside_a_window_is_told_or_loses_nothing(pack: bool) -> None:
    ours, theirs = net(), net()
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3, pack=pack)
    for batch in stepper.over(DATA):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
        with contextlib.suppress(MisuseError):
            ours.zero_grad()
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(DATA, 3))
    assert_same_model(ours, theirs)


def test_another_optimizer_may_be_stepped_and_cleared_inside_a_window() -> None:
    ours, other = net(), net(1)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=3)
    theirs = SGD(other.parameters(), 0.1)
    for batch in stepper.over(DATA):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
        theirs.zero_grad()
        torch.autograd.backward(mse(other, batch))
        theirs.step()
    assert stepper.updates == 1


@PACK
@pytest.mark.parametrize("when", ["before", "between"])
def test_a_gradient_that_did_not_come_through_the_stepper_is_told(when: str, pack: bool) -> None:
    model = net()
    optimizer = SGD(model.parameters(), 0.1)
    stepper = Stepper(model, optimizer, accumulate=2, pack=pack)

    def wrong() -> None:
        if when == "between":
            stepper.backward(mse(model, DATA[0]), items=4)
        torch.autograd.backward(mse(model, DATA[1]))
        stepper.backward(mse(model, DATA[2]), items=3)
        stepper.flush()

    with unchanged(model, optimizer), pytest.raises(MisuseError) as caught:
        wrong()
    assert "weight" in str(caught.value) or "bias" in str(caught.value)


@PACK
def test_a_gradient_written_by_hand_is_told(pack: bool) -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2, pack=pack)
    stepper.backward(mse(model, DATA[0]), items=4)
    model[2].bias.grad = torch.ones_like(model[2].bias)
    with pytest.raises(MisuseError, match=r"2\.bias"):
        stepper.backward(mse(model, DATA[1]), items=2)


@PACK
@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_same_loss_twice_is_told(accumulate: int, pack: bool) -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=accumulate, pack=pack)
    loss = mse(model, DATA[0])
    stepper.backward(loss, items=4)
    with unchanged(model), pytest.raises(MisuseError):
        stepper.backward(loss, items=4)


@PACK
def test_the_same_loss_twice_is_told_though_its_graph_was_kept(pack: bool) -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2, pack=pack)
    loss = mse(model, DATA[0])
    stepper.backward(loss, items=4, retain_graph=True)
    with unchanged(model), pytest.raises(MisuseError):
        stepper.backward(loss, items=4)


@PACK
@pytest.mark.parametrize("accumulate", [1, 2, 3])
def test_two_losses_of_a_micro_batch_without_more_are_told(accumulate: int, pack: bool) -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=accumulate, pack=pack)

    def wrong() -> None:
        for batch in stepper.over(DATA):
            stepper.backward(mse(model, batch), items=len(batch[1]))
            stepper.backward(mse(model, batch), items=len(batch[1]))

    with pytest.raises(MisuseError, match="more"):
        wrong()
    assert stepper.updates == (accumulate == 1)


BadLoss: TypeAlias = Callable[[nn.Sequential], Any]
BAD_LOSSES: dict[str, BadLoss] = {
    "no graph": lambda model: torch.tensor(1.0, dtype=torch.float64),
    "detached": lambda model: mse(model, DATA[0]).detach(),
    "a vector": lambda model: model(DATA[0][0]).square().mean(1),
    "a matrix": lambda model: model(DATA[0][0]),
    "empty": lambda model: model(DATA[0][0])[:0].sum(1),
    "of other parameters": lambda model: mse(net(3), DATA[0]),
    "a number": lambda model: mse(model, DATA[0]).item(),
    "nothing": lambda model: None,
}


@PACK
@pytest.mark.parametrize("name", BAD_LOSSES)
def test_a_loss_that_can_not_be_is_told_and_the_window_goes_on(name: str, pack: bool) -> None:
    ours, theirs = net(), net()
    optimizer = SGD(ours.parameters(), 0.1)
    stepper = Stepper(ours, optimizer, accumulate=2, pack=pack)
    for batch in stepper.over(DATA[:2]):
        with unchanged(ours, optimizer), pytest.raises(LossError) as caught:
            stepper.backward(BAD_LOSSES[name](ours), items=4)
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, GradledgerError)
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [DATA[:2]])
    assert_same_model(ours, theirs)


def test_a_loss_under_no_grad_is_told() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    with torch.no_grad():
        loss = mse(model, DATA[0])
    with pytest.raises(LossError):
        stepper.backward(loss, items=4)


def test_a_loss_of_frozen_parameters_only_is_told() -> None:
    model = net()
    stepper = Stepper(model, SGD(model[0].parameters(), 0.1))
    x, y = DATA[0]
    hidden = model[1](model[0](x)).detach()
    with pytest.raises(LossError):
        stepper.backward((model[2](hidden) - y).square().mean(), items=4)


@PACK
def test_a_loss_of_shape_one_is_a_loss(pack: bool) -> None:
    """torch takes it as well."""
    ours, theirs = net(), net()
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), pack=pack)
    stepper.backward(mse(ours, DATA[0]).reshape(1), items=4)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [DATA[:1]])
    assert_same_model(ours, theirs)


BAD_ITEMS: list[Any] = [
    0,
    -1,
    0.0,
    -2.5,
    math.nan,
    math.inf,
    torch.tensor(0),
    torch.tensor(-3),
    torch.tensor(math.nan),
    torch.tensor([1, 2]),
    "4",
    [4],
    True,
]


@PACK
@pytest.mark.parametrize("items", BAD_ITEMS, ids=repr)
def test_items_that_are_no_positive_number_are_told(items: Any, pack: bool) -> None:
    ours, theirs = net(), net()
    optimizer = SGD(ours.parameters(), 0.1)
    stepper = Stepper(ours, optimizer, accumulate=2, pack=pack)
    for batch in stepper.over(DATA[:2]):
        with unchanged(ours, optimizer), pytest.raises(LossError) as caught:
            stepper.backward(mse(ours, batch), items=items)
        assert "items" in str(caught.value)
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [DATA[:2]])
    assert_same_model(ours, theirs)


def test_items_in_some_micro_batches_of_a_window_only_are_told() -> None:
    """Who counts some has forgotten the others: no weight is right."""
    model = net()
    optimizer = SGD(model.parameters(), 0.1)
    stepper = Stepper(model, optimizer, accumulate=2)
    stepper.backward(mse(model, DATA[0]), items=4)
    with unchanged(model, optimizer), pytest.raises((LossError, MisuseError), match="items"):
        stepper.backward(mse(model, DATA[1]))


def test_different_items_for_the_losses_of_one_micro_batch_are_told() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    stepper.backward(mse(model, DATA[0]), items=4, more=True)
    with pytest.raises((LossError, MisuseError), match="items"):
        stepper.backward(mse(model, DATA[0]), items=3)


def stepper_with(**options: Any) -> Stepper:
    model = net()
    return Stepper(model, SGD(model.parameters(), 0.1), **options)


BAD_OPTIONS: list[dict[str, Any]] = [
    {"accumulate": 0},
    {"accumulate": -1},
    {"accumulate": 1.5},
    {"accumulate": "4"},
    {"accumulate": True},
    {"clip_norm": -1.0},
    {"clip_norm": math.nan},
    {"clip_norm": "1"},
    {"clip_norm": [1.0, 1.0]},
    {"clip_norm": []},
    {"clip_value": -1.0},
    {"clip_value": math.nan},
    {"clip_norm": 1.0, "clip_value": 1.0},
    {"on_fault": "ignore"},
    {"on_nonfinite": "warn"},
    {"release": "late"},
    {"scaler": "scaler"},
    {"scheduler": "scheduler"},
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=str)
def test_an_argument_that_can_not_be_is_told(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError) as caught:
        stepper_with(**options)
    assert isinstance(caught.value, ValueError)
    assert next(iter(options)) in str(caught.value)


@pytest.mark.parametrize("optimizer", [None, [], [None], "sgd", SGD], ids=repr)
def test_what_is_no_optimizer_is_told(optimizer: Any) -> None:
    with pytest.raises(OptionError, match="optimizer"):
        Stepper(net(), optimizer)


def test_what_is_no_model_is_told() -> None:
    model = net()
    bad: Any = list(model.parameters())
    with pytest.raises(OptionError, match="model"):
        Stepper(bad, SGD(model.parameters(), 0.1))


def test_two_optimizers_with_a_parameter_in_common_are_told() -> None:
    model = net()
    both = [SGD(model.parameters(), 0.1), SGD(model[0].parameters(), 0.1)]
    with pytest.raises((OptionError, MisuseError)):
        Stepper(model, both)


def test_the_same_optimizer_twice_is_told() -> None:
    model = net()
    optimizer = SGD(model.parameters(), 0.1)
    with pytest.raises((OptionError, MisuseError)):
        Stepper(model, [optimizer, optimizer])


def test_a_scheduler_of_another_optimizer_is_told() -> None:
    model, other = net(), net(1)
    plan = StepLR(SGD(other.parameters(), 0.1), 1)
    with pytest.raises((OptionError, MisuseError)):
        Stepper(model, SGD(model.parameters(), 0.1), scheduler=plan)


def test_a_step_of_the_scalers_by_the_user_inside_a_window_is_told_or_harmless() -> None:
    ours, theirs = net(), net()
    scaler = GradScaler("cpu", init_scale=1024.0)
    optimizer = SGD(ours.parameters(), 0.1)
    stepper = Stepper(ours, optimizer, accumulate=2, scaler=scaler)
    stepper.backward(mse(ours, DATA[0]), items=4)
    with contextlib.suppress(MisuseError, AssertionError):  # torch asserts that there is something
        scaler.step(optimizer)
    stepper.backward(mse(ours, DATA[1]), items=2)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [DATA[:2]])
    assert_same_model(ours, theirs)


def test_state_dict_of_the_optimizer_may_be_read_inside_a_window() -> None:
    ours, theirs = net(), net()
    optimizer = AdamW(ours.parameters(), 0.01, eps=1e-3)
    stepper = Stepper(ours, optimizer, accumulate=3)
    for batch in stepper.over(DATA):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
        optimizer.state_dict()
        ours.state_dict()
    big_batches(theirs, AdamW(theirs.parameters(), 0.01, eps=1e-3), [DATA])
    assert_same_model(ours, theirs)


def test_a_second_stepper_over_the_same_optimizer_is_told() -> None:
    """Each would clear and step what the other counts."""
    model = net()
    optimizer = SGD(model.parameters(), 0.1)
    first = Stepper(model, optimizer, accumulate=2)

    def wrong() -> None:
        second = Stepper(model, optimizer, accumulate=2)
        first.backward(mse(model, DATA[0]), items=4)
        second.backward(mse(model, DATA[1]), items=2)
        second.backward(mse(model, DATA[2]), items=3)

    with unchanged(model, optimizer), pytest.raises((MisuseError, OptionError)):
        wrong()


def test_a_stepper_that_is_gone_leaves_the_optimizer_free() -> None:
    ours, theirs = net(), net()
    optimizer = SGD(ours.parameters(), 0.1)
    stepper = Stepper(ours, optimizer)
    stepper.backward(mse(ours, DATA[0]), items=4)
    del stepper
    torch.autograd.backward(mse(ours, DATA[1]))
    optimizer.step()
    optimizer.zero_grad()
    again = Stepper(ours, optimizer)
    again.backward(mse(ours, DATA[2]), items=3)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), [[batch] for batch in DATA])
    assert_same_model(ours, theirs)


def test_messages_say_what_to_do() -> None:
    model = net()
    optimizer = SGD(model.parameters(), 0.1)
    stepper = Stepper(model, optimizer, accumulate=2)
    stepper.backward(mse(model, DATA[0]), items=4)
    wrong: list[Callable[[], object]] = [
        optimizer.zero_grad,
        optimizer.step,
        lambda: stepper.backward(Tensor([1.0]), items=4),
        lambda: stepper.backward(mse(model, DATA[0]), items=0),
    ]
    for call in wrong:
        with pytest.raises(GradledgerError) as caught:
            call()
        assert len(str(caught.value)) > 30


def test_an_old_habit_inside_over_is_told_at_the_next_draw() -> None:
    model = net()
    before = [p.detach().clone() for p in model.parameters()]
    stepper = Stepper(model, SGD(model.parameters(), 0.1))

    def loop() -> None:
        for batch in stepper.over(micro_batches(4, 4)):
            mse(model, batch).backward()  # type: ignore[no-untyped-call]

    with pytest.raises(MisuseError, match=r"call stepper\.backward\(loss\) in place of loss\.back"):
        loop()
    assert all(map(torch.equal, before, model.parameters()))
    assert all(p.grad is None for p in model.parameters())


def test_a_pass_that_trains_nothing_is_told() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    with pytest.warns(
        StepperWarning, match=r"ended after 2 batches, and stepper\.backward\(loss\) was never"
    ):
        assert len(list(stepper.over(micro_batches(4, 4)))) == 2


def test_a_group_that_comes_later_needs_a_norm_of_its_own() -> None:
    model = net()
    first, *others = model.parameters()
    optimizer = SGD([first], 0.1)
    stepper = Stepper(model, optimizer, clip_norm=[1.0])
    stepper.backward(mse(model, micro_batches(4)[0]))
    optimizer.add_param_group({"params": others})
    before = [p.detach().clone() for p in model.parameters()]
    with pytest.raises(OptionError, match="lists 1 norms, and the optimizers have 2 param groups"):
        stepper.backward(mse(model, micro_batches(4)[0]))
    assert all(map(torch.equal, before, model.parameters()))
    assert all(p.grad is None for p in model.parameters())
