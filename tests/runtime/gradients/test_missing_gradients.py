"""A program that dies of a `.grad` that is None is told whose, also of what is in no book."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from gradledger.runtime.audit import audit


def of_a_tensor_before_any_backward() -> None:
    w = torch.zeros(3, requires_grad=True)
    w.grad.zero_()  # type: ignore[union-attr]


def of_an_input_that_needs_none() -> None:
    images = torch.rand(4, 3)
    nn.Linear(3, 1)(images).sum().backward()
    images.grad.sign()  # type: ignore[union-attr]


def of_a_tensor_that_is_no_leaf() -> None:
    x = torch.rand(4, 3, requires_grad=True) * 1.0
    x.sum().backward()  # type: ignore[no-untyped-call]
    x.grad.abs()  # type: ignore[union-attr]


def of_a_parameter_that_was_cleared() -> None:
    model = nn.Linear(3, 1)
    model(torch.rand(4, 3)).sum().backward()
    model.zero_grad()
    for parameter in model.parameters():
        parameter.grad.norm()  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize(
    ("program", "whose"),
    [
        (of_a_tensor_before_any_backward, {"w"}),
        (of_an_input_that_needs_none, {"images"}),
        (of_a_tensor_that_is_no_leaf, {"x"}),
        (of_a_parameter_that_was_cleared, {"model.weight", "model.bias"}),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_the_gradient_that_was_missing_is_named(
    program: Callable[[], None], whose: set[str]
) -> None:
    with pytest.raises(AttributeError), audit() as book:
        program()
    (finding,) = book.findings
    assert (finding.rule, finding.cells) == ("GL606", frozenset(whose))
    assert finding.at.line == program.__code__.co_firstlineno + len(_lines(program)) - 1


def _lines(program: Callable[[], None]) -> set[int]:
    lines = {line for *_, line in program.__code__.co_lines() if line is not None}
    return set(range(program.__code__.co_firstlineno, max(lines) + 1))


def test_a_none_of_another_kind_is_not_explained() -> None:
    grads: dict[str, Tensor | None] = {"w": None}
    with pytest.raises(AttributeError), audit() as book:
        grads["w"].norm()  # type: ignore[union-attr]
    assert book.findings == ()
