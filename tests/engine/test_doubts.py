"""What would train wrongly without a word is told once, and never where a loop is right."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.nn.functional import cross_entropy
from torch.optim import LBFGS, SGD, Adam

from gradledger import Stepper
from gradledger.errors import OptionError, StepperWarning

from .loops import assert_same_model, big_batches, micro_batches, mse, net, windows

Make = Callable[[Tensor, int], Tensor]


def classified(
    change: Make, *, accumulate: int = 4, items: Any = None, valid: int = 0, **options: Any
) -> list[str]:
    """Trains on three windows, and gives what was said. `change`: what is done to a loss."""
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.01), accumulate=accumulate, **options)
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for i, (x, _) in enumerate(stepper.over(micro_batches(*[6] * 3 * accumulate))):
            y = labels.clone()
            y[: valid * (i % 2)] = -100
            loss = change(cross_entropy(model(x), y), i)
            stepper.backward(loss, items=items or int((y != -100).sum()))
    assert all(each.filename == __file__ for each in said)
    return [str(each.message) for each in said if issubclass(each.category, StepperWarning)]


DIVISIONS: dict[str, Make] = {
    "/ 4": lambda loss, _: loss / 4,
    "* 0.25": lambda loss, _: loss * 0.25,
    "/= 4": lambda loss, _: loss.clone().div_(4),
    "/ a tensor": lambda loss, _: loss / torch.tensor(4.0),
    "of a sum of two": lambda loss, _: (loss + 0.1 * loss.square()) / 4,
}


@pytest.mark.parametrize("how", DIVISIONS)
def test_a_loss_that_is_divided_already_is_told_once_with_the_line_to_change(how: str) -> None:
    (said,) = classified(DIVISIONS[how])
    assert "each loss is divided by 4 already" in said
    assert "Write stepper.backward(loss), without / 4." in said
    assert "allow=['divided']" in said


@pytest.mark.parametrize("how", DIVISIONS)
def test_a_division_that_is_meant_is_not_told(how: str) -> None:
    assert classified(DIVISIONS[how], allow=["divided"]) == []


def test_a_division_is_told_early_in_large_windows() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.01), accumulate=1000)
    said = []
    for i, batch in enumerate(micro_batches(*[4] * 80)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            stepper.backward(mse(model, batch) / 1000, items=4)
        said += [i] * len(caught)
    assert said == [31]


def test_a_likelihood_divided_by_two_is_told_in_windows_of_two() -> None:
    assert "divided by 2" in classified(lambda loss, _: loss / 2, accumulate=2)[0]


def test_what_is_told_is_so_and_is_gone_without_the_division() -> None:
    data = micro_batches(*[4] * 8)
    models = []
    for divisor in (4, 1):
        models.append(net())
        stepper = Stepper(
            models[-1], SGD(models[-1].parameters(), 0.1), accumulate=4, allow=["divided"]
        )
        for batch in stepper.over(data):
            stepper.backward(mse(models[-1], batch) / divisor, items=4)
    theirs = net()
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data, 4))
    assert_same_model(models[1], theirs)
    with pytest.raises(AssertionError):
        assert_same_model(models[0], theirs)


def test_a_loss_that_is_scaled_already_is_told_with_the_scaler_at_hand() -> None:
    scaler = GradScaler("cpu", init_scale=2.0)
    said = classified(lambda loss, _: scaler.scale(loss), scaler=scaler)
    assert len(said) == 1
    assert "without scaler.scale(loss)" in said[0]


def test_a_loss_that_is_scaled_by_a_scaler_that_nobody_gave_is_told() -> None:
    scaler = GradScaler("cpu")
    said = classified(lambda loss, _: scaler.scale(loss), accumulate=1)
    assert len(said) == 1
    assert "scaler=scaler" in said[0]
    assert classified(lambda loss, _: scaler.scale(loss), allow=["scaled"]) == []


def test_a_factor_that_only_some_micro_batches_have_is_told_once() -> None:
    (said,) = classified(lambda loss, i: loss / 4 if i % 4 else loss)
    assert "6 of the first 8 losses are divided by 4 and the others are not" in said
    assert classified(lambda loss, i: loss / 4 if i % 4 else loss, allow=["factors"]) == []


def test_items_that_do_not_fit_the_mean_are_told_once() -> None:
    (said,) = classified(lambda loss, _: loss, items=6, valid=1)
    assert "the mean of 5 and came with items=6" in said
    assert "(labels != -100).sum()" in said
    assert classified(lambda loss, _: loss, items=6, valid=1, allow=["items"]) == []


RIGHT: dict[str, tuple[Make, dict[str, Any]]] = {
    "plain": (lambda loss, _: loss, {}),
    "tokens": (lambda loss, _: loss, {"valid": 2}),
    "items in proportion": (lambda loss, _: loss, {"items": 1}),
    "half": (lambda loss, _: 0.5 * loss, {"accumulate": 2}),
    "half of a square": (lambda loss, _: loss.square().mean() / 2, {"accumulate": 2}),
    "mean of four losses": (lambda loss, _: (loss + loss + loss + loss) / 4, {}),
    "another weight": (lambda loss, _: 0.1 * loss, {}),
    "annealed": (lambda loss, i: loss * (1 - i / 100), {}),
    "temperature": (lambda loss, _: loss * 4.0, {}),
    "windows of one": (lambda loss, _: loss / 4, {"accumulate": 1}),
    "items in windows of one": (lambda loss, _: loss, {"accumulate": 1, "items": 6, "valid": 1}),
    "large weight": (lambda loss, _: loss * 65536.0, {}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_where_a_loop_is_right(name: str) -> None:
    change, options = RIGHT[name]
    assert classified(change, **options) == []


def test_a_sum_over_rows_divided_by_as_many_as_the_window_has_is_right() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=4)
    for batch in stepper.over(micro_batches(*[4] * 8)):
        stepper.backward((model(batch[0]) - batch[1]).square().sum() / 4, items=4)


# The model ------------------------------------------------------------------------------------


def with_dropout() -> nn.Sequential:
    return nn.Sequential(nn.Linear(5, 7), nn.Dropout(0.5), nn.Linear(7, 3)).double()


def test_a_model_in_eval_mode_is_told_once_also_when_it_was_left_there_later() -> None:
    model = with_dropout()
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    data = micro_batches(4, 4, 4)
    stepper.backward(mse(model, data[0]), items=4)
    model.eval()
    with pytest.warns(StepperWarning, match=r"in eval mode.*model\.train\(\).*allow=\['eval'\]"):
        stepper.backward(mse(model, data[1]), items=4)
    stepper.backward(mse(model, data[2]), items=4)


def test_eval_mode_that_is_meant_or_changes_nothing_is_not_told() -> None:
    frozen = with_dropout()
    frozen[1].eval()
    cases: list[tuple[nn.Module, Any]] = [
        (with_dropout().eval(), ["eval"]),
        (net().eval(), []),
        (frozen, []),
    ]
    for model, allow in cases:
        stepper = Stepper(model, SGD(model.parameters(), 0.1), allow=allow)
        stepper.backward(mse(model, micro_batches(4)[0]), items=4)


def test_eval_mode_is_right_for_an_optimizer_that_evaluates_the_loss_itself() -> None:
    model = with_dropout().eval()
    stepper = Stepper(model, LBFGS(model.parameters(), max_iter=2))
    stepper.run(micro_batches(4)[0], lambda batch: mse(model, batch))


def test_a_parameter_that_no_optimizer_owns_is_told_once() -> None:
    model = net()
    stepper = Stepper(model, SGD(model[2].parameters(), 0.1))
    data = micro_batches(4, 4, 4)
    stepper.backward(mse(model, data[0]), items=4)
    with pytest.warns(StepperWarning, match=r"no optimizer has 0\.weight, 0\.bias.*'unowned'"):
        stepper.backward(mse(model, data[1]), items=4)
    stepper.backward(mse(model, data[2]), items=4)


def test_a_parameter_that_is_frozen_or_anothers_or_not_in_the_loss_is_not_told() -> None:
    frozen = net()
    frozen[0].requires_grad_(False)
    shared = net()
    other = Adam(shared[0].parameters())
    target = nn.ModuleList([net(), copy.deepcopy(net())])
    for model, parameters, loss in (
        (frozen, frozen[2].parameters(), frozen),
        (shared, shared[2].parameters(), shared),
        (target, target[0].parameters(), target[0]),
        (meant := net(), meant[2].parameters(), meant),
    ):
        allow: Any = ["unowned"] if loss is meant else []
        stepper = Stepper(model, SGD(parameters, 0.1), allow=allow)
        for batch in micro_batches(4, 4, 4):
            stepper.backward(mse(loss, batch), items=4)
    assert other.param_groups


# Options ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("acumulate", "accumulate"),
        ("gradient_accumulation_steps", "accumulate"),
        ("max_grad_norm", "clip_norm"),
        ("clip_grad_norm", "clip_norm"),
        ("schedulers", "scheduler"),
        ("on_non_finite", "on_nonfinite"),
        ("grad_scaler", "scaler"),
    ],
)
def test_an_unknown_option_is_answered_with_the_nearest(name: str, meant: str) -> None:
    model = net()
    options: Any = {name: 4}
    with pytest.raises(OptionError, match=f"no option '{name}'. Did you mean {meant}"):
        Stepper(model, SGD(model.parameters(), 0.1), **options)


def test_an_option_that_is_like_none_is_answered_with_all_of_them() -> None:
    model = net()
    options: Any = {"zzz": 4}
    with pytest.raises(OptionError, match="There are accumulate, clip_norm,"):
        Stepper(model, SGD(model.parameters(), 0.1), **options)


@pytest.mark.parametrize("allow", ["divided", ["devided"], [3], 3])
def test_allow_takes_names_that_there_are(allow: Any) -> None:
    model = net()
    with pytest.raises(OptionError, match="allow"):
        Stepper(model, SGD(model.parameters(), 0.1), allow=allow)
