from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

import gradledger
from gradledger.runtime.program.objects import (
    attributes,
    buffers_in,
    elements,
    has,
    is_a,
    items,
    key_in_words,
    parameters_in,
)


class Liar:
    """Says that it is something else."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return nn.Module

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        raise AssertionError

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


class Pair(NamedTuple):
    first: int
    second: int


def test_what_an_object_says_of_itself_is_not_believed() -> None:
    liar = Liar()
    assert isinstance(liar, nn.Module)
    assert not is_a(liar, nn.Module)
    assert is_a(liar, Liar)
    assert attributes(liar) == {}
    assert has(nn.Linear(1, 1), "zero_grad")
    assert not has(liar, "zero_grad")


def test_containers_of_all_names_are_looked_into() -> None:
    ordered = OrderedDict(b=1, a=2)
    assert items(ordered) == [("b", 1), ("a", 2)]
    assert elements(ordered) == [1, 2]
    assert elements(Pair(1, 2)) == elements([1, 2]) == elements({1, 2}) == [1, 2]
    assert items([1]) is None
    assert elements("text") is None
    assert [key_in_words(key) for key in ("a", 1, liar_key)] == ["'a'", "1", "…"]


liar_key = Liar()


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_parameters_and_buffers_are_those_that_torch_names() -> None:
    model = nn.Sequential(
        nn.Linear(2, 2),
        nn.ModuleDict({"norm": nn.BatchNorm1d(2), "again": nn.ModuleList([nn.Linear(2, 2)])}),
        nn.Linear(2, 2, bias=False),
    )
    model[2].weight = model[0].weight
    model.append(model[0])
    scripted = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    for module in (model, nn.Sequential(scripted, model), torch.compile(model)):
        assert is_a(module, nn.Module)
        for ours, theirs in (
            (parameters_in(module), module.named_parameters()),
            (buffers_in(module), module.named_buffers()),
        ):
            assert [(name, id(each)) for name, each in ours] == [
                (name, id(each)) for name, each in theirs
            ]


class Bears(torch.autograd.Function):
    """Its node has a `variable`, as the nodes of leaves have."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.variable = torch.ones(3, requires_grad=True)
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0] * 2


def test_a_node_with_a_variable_of_the_programs_is_no_leafs() -> None:
    leaf = torch.ones(2, requires_grad=True)
    with gradledger.audit() as book:
        Bears.apply(leaf).sum().backward()  # type: ignore[no-untyped-call]
        assert book.journal.cells.names == ["leaf"]
