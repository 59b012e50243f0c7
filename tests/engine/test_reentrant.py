"""Graphs with parts that walk back by themselves, as checkpoint(use_reentrant=True) makes them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW
from torch.utils.checkpoint import checkpoint

from gradledger import LossError, Stepper
from tests.engine.loops import Batch, Layers, assert_same_model, micro_batches, net, plain


def _checkpointed(model: nn.Module, batch: Batch) -> Tensor:
    """The first layer is hidden, and the second is in both parts."""
    assert isinstance(model, Layers)
    x, y = batch
    x = x.detach().requires_grad_()

    def hidden(x: Tensor) -> Tensor:
        inside: Tensor = model[1](model[0](x))
        both: Tensor = inside + 0.1 * model[2](inside).sum()
        return both

    out = model[2](checkpoint(hidden, x, use_reentrant=True))
    loss: Tensor = (out - y).square().mean()
    return loss


class Homemade(torch.autograd.Function):
    """What other libraries have made after torch's."""

    @staticmethod
    def forward(ctx: Any, function: Any, x: Tensor) -> Tensor:
        ctx.function = function
        ctx.save_for_backward(x)
        with torch.no_grad():
            result: Tensor = function(x)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            again = ctx.function(x)
        torch.autograd.backward(again, grads[0])
        return None, x.grad


def _homemade(model: nn.Module, batch: Batch) -> Tensor:
    assert isinstance(model, Layers)
    x, y = batch
    hidden: Any = Homemade.apply(  # type: ignore[no-untyped-call]
        lambda x: model[1](model[0](x)), x.detach().requires_grad_()
    )
    loss: Tensor = (model[2](hidden) - y).square().mean()
    return loss


@pytest.mark.parametrize("loss", [_checkpointed, _homemade])
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("pack", [True, False])
def test_the_hidden_part_is_trained_as_in_the_plain_loop(
    loss: Any, accumulate: int, pack: bool
) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*[4] * 6)
    stepper = Stepper(ours, AdamW(ours.parameters(), 0.1), accumulate=accumulate, pack=pack)
    for batch in stepper.over(data):
        stepper.backward(loss(ours, batch), items=4)
    plain(theirs, AdamW(theirs.parameters(), 0.1), data, accumulate, loss=loss)
    assert_same_model(ours, theirs)
    assert stepper.updates == 6 // accumulate


def test_a_part_may_be_hidden_from_some_later_update_on() -> None:
    ours, theirs = net(), net()
    data = micro_batches(*[4] * 8)
    optimizer = SGD(theirs.parameters(), 0.1, momentum=0.9)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1, momentum=0.9), accumulate=2)
    for i, (x, y) in enumerate(stepper.over(data)):
        for model in (ours, theirs):
            hide = i >= 5

            def hidden(x: Tensor, model: Layers = model) -> Tensor:
                out: Tensor = model[1](model[0](x))
                return out

            x = x.detach().requires_grad_()
            inside = checkpoint(hidden, x, use_reentrant=True) if hide else hidden(x)
            loss = (model[2](inside) - y).square().mean()
            if model is ours:
                stepper.backward(loss, items=4)
            else:
                torch.autograd.backward(loss / 2)
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()
    assert_same_model(ours, theirs)


@pytest.mark.parametrize("fails", [False, True])
def test_cells_of_others_come_out_as_they_went_in(fails: bool) -> None:
    ours, outside, inside = net(), nn.Linear(3, 3).double(), nn.Linear(5, 5).double()
    before = torch.ones_like(inside.weight)
    inside.weight.grad = before
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1))

    def hidden(x: Tensor) -> Tensor:
        out: Tensor = ours(inside(x))
        if fails and torch.is_grad_enabled():
            out.register_hook(lambda _: 1 / 0)  # type: ignore[no-untyped-call]
        return out

    ((x, _),) = micro_batches(4)
    x.requires_grad_()
    loss = outside(checkpoint(hidden, x, use_reentrant=True)).square().mean()
    if fails:
        with pytest.raises(ZeroDivisionError):
            stepper.backward(loss, items=4)
    else:
        assert stepper.backward(loss, items=4)
    assert inside.weight.grad is before
    assert torch.equal(before, torch.ones_like(before))
    assert inside.bias.grad is outside.weight.grad is outside.bias.grad is x.grad is None
    assert all(p.grad is None for p in ours.parameters())


def test_spending_at_once_is_refused() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1), release="eager")
    with pytest.raises(LossError, match="Pass use_reentrant=False"):
        stepper.backward(_checkpointed(model, micro_batches(4)[0]), items=4)
