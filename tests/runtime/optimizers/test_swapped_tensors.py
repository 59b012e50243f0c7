"""Torch may swap the contents of tensors that are in the books."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

import gradledger


@pytest.fixture(autouse=True)
def conversions_swap() -> Iterator[None]:
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(before)


def backward(model: nn.Linear) -> None:
    kind = model.weight.dtype
    model(torch.ones(3, model.in_features, dtype=kind)).square().mean().backward()


def test_a_converted_gradient_is_no_new_deposit() -> None:
    one, other = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizer = torch.optim.SGD([*one.parameters(), *other.parameters()], lr=0.1)
    with gradledger.audit() as book:
        for _ in range(2):
            backward(one)
            backward(one)
            one.double()
            backward(other)
            optimizer.step()
            optimizer.zero_grad()
            one.float()
    assert (book.tally.entries, book.tally.spent, book.tally.lost) == (12, 12, 0)
    assert book.journal.failure is None


def test_a_cell_that_was_swapped_is_followed_for_precision_anew() -> None:
    model = nn.Linear(2, 1).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradledger.audit() as book:
        for turn in range(40):
            backward(model)
            if turn % 4 == 1:
                model.to(torch.float16 if turn % 8 == 1 else torch.bfloat16)
            if turn % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
    assert "GL903" not in {finding.rule for finding in book.findings}
    assert book.journal.failure is None
    assert not any(parameter._backward_hooks for parameter in model.parameters())


def test_references_of_others_still_forbid_it() -> None:
    model = nn.Linear(2, 1)
    with gradledger.audit():
        backward(model)
        others = weakref.ref(model.weight)
        with pytest.raises(RuntimeError, match="Couldn't swap Linear"):
            model.double()
        del others
        model.double()
        assert model.weight.dtype is torch.float64


@pytest.mark.parametrize("dies", [False, True])
def test_an_audit_that_has_ended_is_in_nobodys_way(dies: bool) -> None:
    model = nn.Linear(2, 1)
    data = [torch.ones(3, 2), torch.ones(3, 2)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    book = gradledger.audit()
    try:
        with book:
            for piece in data:
                model(piece).square().mean().backward()
                optimizer.step()
            if dies:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert not weakref.getweakrefs(model.weight)
    assert not any(map(weakref.getweakrefs, data))
    model.double()
    assert book.tally.backwards == 2


def test_a_nested_audit_is_in_nobodys_way_either() -> None:
    model = nn.Linear(2, 1)
    with gradledger.audit() as outer:
        with gradledger.audit():
            backward(model)
            model.double()
        backward(model)
        model.float()
    assert outer.tally.backwards == 2
    assert vars(torch.utils)["weakref"] is weakref


def test_two_parameters_that_are_swapped_keep_their_places() -> None:
    one, other = nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(2))
    with gradledger.audit() as book:
        (one.sum() + 2 * other.sum()).backward()  # type: ignore[no-untyped-call]
        cells = book.journal.cells
        before = cells.slot(one), cells.slot(other)
        one.grad = other.grad = None
        torch.utils.swap_tensors(one, other)  # type: ignore[no-untyped-call]
        assert (cells.slot(one), cells.slot(other)) == before
    assert one.tolist() == [0, 0]


def test_the_eager_stepper_goes_on_after_a_conversion() -> None:
    def trained(convert: bool) -> Tensor:
        torch.manual_seed(0)
        model = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        stepper = gradledger.Stepper(model, optimizer, release="eager")
        for turn in range(6):
            kind = model.weight.dtype
            stepper.backward(model(torch.ones(3, 2, dtype=kind)).square().mean())
            if convert and turn == 2:
                model.double()
                model.float()
        return model.weight.detach().clone()

    assert torch.equal(trained(convert=True), trained(convert=False))
