"""What the checker takes for numbers without a graph, asked of torch."""

from __future__ import annotations

import pytest
import torch

from gradledger.static.models.graphless import DETACHING

WITH_ANOTHER = (
    *("eq", "ne", "gt", "lt", "ge", "le", "not_equal", "greater", "less", "greater_equal"),
    *("less_equal", "isclose", "isin", "logical_and", "logical_or", "logical_xor"),
)
OF_ONE = (
    *("argmax", "argmin", "argsort", "argwhere", "nonzero", "count_nonzero", "histc", "isnan"),
    *("isfinite", "isinf", "isposinf", "isneginf", "isreal", "signbit", "logical_not", "any"),
    *("all", "detach"),
)
CALLS = {
    **dict.fromkeys(OF_ONE, ()),
    **{name: (torch.rand(4, 4),) for name in WITH_ANOTHER},
    "multinomial": (1,),
    "bucketize": (torch.tensor([0.2, 0.5]),),
    "searchsorted": (torch.rand(4, 2),),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_function_of_torch_that_is_said_to_have_no_graph_has_none(name: str) -> None:
    numbers = torch.rand(4, 4, requires_grad=True) * 1
    assert name in DETACHING
    assert not getattr(torch, name)(numbers, *CALLS[name]).requires_grad


@pytest.mark.parametrize("name", ["long", "int", "short", "byte", "char", "bool"])
def test_whole_numbers_have_no_graph(name: str) -> None:
    assert name in DETACHING
    assert not getattr(torch.rand(4, requires_grad=True), name)().requires_grad


@pytest.mark.parametrize("name", ["round", "floor", "ceil", "trunc", "sign", "frac"])
def test_what_is_rounded_has_a_graph(name: str) -> None:
    assert name not in DETACHING
    assert getattr(torch, name)(torch.rand(4, requires_grad=True)).requires_grad
