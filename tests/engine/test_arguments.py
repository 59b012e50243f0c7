"""Arguments of other types than one thinks of: taken for what they are worth, or told."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch.optim import SGD

from gradledger import LossError, MisuseError, OptionError, Stepper

from .loops import assert_same_model, micro_batches, mse, net

((X, Y),) = micro_batches(4)


def _stepper(**options: Any) -> tuple[Any, Stepper]:
    model = net()
    return model, Stepper(model, SGD(model.parameters(), 0.1), **options)


@pytest.mark.parametrize(
    "items", [np.int64(3), np.float32(3), np.float64(3), Fraction(3), torch.tensor(3)], ids=repr
)
def test_items_may_be_any_number(items: Any) -> None:
    (model, stepper), (other, plain) = _stepper(accumulate=2), _stepper(accumulate=2)
    for some, number in ((items, 3), (5, 5)):
        stepper.backward(mse(model, (X * number, Y)), items=some)
        plain.backward(mse(other, (X * number, Y)), items=number)
    assert_same_model(model, other, exact=True)


@pytest.mark.parametrize("items", [10**400, np.bool_(True), np.float32("nan"), 1j, "3"], ids=type)
def test_items_that_are_no_number_are_told(items: Any) -> None:
    model, stepper = _stepper()
    with pytest.raises(LossError, match="items must be a"):
        stepper.backward(mse(model, (X, Y)), items=items)


@pytest.mark.parametrize(
    "options",
    [
        {"accumulate": np.int64(2)},
        {"clip_norm": np.float32(1)},
        {"clip_norm": torch.tensor(1.0)},
        {"clip_norm": [np.float32(1)]},
        {"clip_value": np.float64(1)},
    ],
    ids=str,
)
def test_options_may_be_any_number(options: dict[str, Any]) -> None:
    plain = {
        key: [1.0] if isinstance(value, list) else int(value) if key == "accumulate" else 1.0
        for key, value in options.items()
    }
    (model, stepper), (other, same) = _stepper(**options), _stepper(**plain)
    for batch in micro_batches(4, 4, 4, 4):
        stepper.backward(mse(model, batch), items=4)
        same.backward(mse(other, batch), items=4)
    assert_same_model(model, other, exact=True)
    stepper.state_dict()


@pytest.mark.parametrize(
    "options",
    [{"pack": "no"}, {"pack": None}, {"pack": 1}, {"clip_norm": True}, {"on_fault": ["drop"]}],
    ids=str,
)
def test_options_of_another_type_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        _stepper(**options)


def test_arguments_that_are_nothing_are_told() -> None:
    model, stepper = _stepper()
    nothing: Any = None
    with pytest.raises(OptionError, match=r"over\(\) needs something to draw"):
        stepper.over(nothing)
    with pytest.raises(OptionError, match="path must be a string"):
        stepper.save(nothing)
    with pytest.raises(OptionError, match="path must be a string"):
        stepper.load(nothing)
    with pytest.raises(OptionError, match="loss_fn must be a function"):
        stepper.run(X, nothing)
    three: Any = lambda x: (model(x).mean(), 4, 5)  # noqa: E731
    with pytest.raises(LossError, match="returned 3 values"):
        stepper.run(X, three)
    with pytest.raises(LossError, match="must be a real number"):
        stepper.backward(model(X).mean().to(torch.complex128))


def test_what_the_error_advises_for_a_foreign_gradient_works() -> None:
    model, stepper = _stepper(accumulate=2)
    for batch in stepper.over(micro_batches(4, 4)):
        torch.autograd.backward(mse(model, batch))
        with pytest.raises(MisuseError, match=r"clear it with model.zero_grad\(\)"):
            stepper.backward(mse(model, batch), items=4)
        model.zero_grad()
        stepper.backward(mse(model, batch), items=4)
    assert stepper.updates == 1
