"""docs/stepper.md is enough to use Stepper: it names all there is, as it is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
import torch
from torch import nn

import gradledger
from gradledger import GradledgerError, Stepper

PAGE = (Path(__file__).parents[2] / "docs" / "stepper.md").read_text(encoding="utf-8")
PUBLIC = [name for name in vars(Stepper) if not name.startswith("_")]
OPTIONS = {
    name: option.default
    for name, option in inspect.signature(Stepper).parameters.items()
    if option.kind is option.KEYWORD_ONLY
}


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_on_the_page(name: str) -> None:
    assert f"stepper.{name}" in PAGE


def test_the_page_names_nothing_that_is_not_there() -> None:
    named = set(re.findall(r"stepper\.([a-z]\w*)", PAGE)) - {"md"}
    assert named <= set(PUBLIC)


def test_arguments_and_their_defaults_are_those_of_the_class() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", PAGE, re.MULTILINE))
    rows.pop("model")
    defaults = {name: eval(text) for name, text in rows.items()}
    # Which of two it is depends on `release`; the page says so.
    assert defaults == OPTIONS | {"on_nonfinite": "skip"}


@pytest.mark.parametrize("name", re.findall(r"^\| `(\w+(?:Error|Gradient))`", PAGE, re.MULTILINE))
def test_the_errors_on_the_page_are_exported(name: str) -> None:
    error = getattr(gradledger, name)
    assert issubclass(error, GradledgerError)
    assert name in gradledger.__all__


def test_the_program_on_the_page_trains() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    model = nn.Linear(3, 1)
    names = {
        "model": model,
        "optimizer": torch.optim.SGD(model.parameters(), 0.1),
        "criterion": nn.MSELoss(),
        "loader": [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(6)],
    }
    exec(compile(code, "stepper.md", "exec"), names)
    stepper = names["stepper"]
    assert isinstance(stepper, Stepper)
    assert stepper.updates == 2
