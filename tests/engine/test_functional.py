"""Models that are called with parameters from elsewhere, and parameters with master copies."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.optim import AdamW

from gradledger import Stepper

from .loops import Batch, assert_same, assert_same_model, big_batches, micro_batches, net, windows

PACK = pytest.mark.parametrize("pack", [True, False], ids=["packed", "loose"])


@PACK
def test_a_model_called_by_functional_call_is_trained(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2, 5)
    given: dict[str, Tensor] = {
        **dict(ours.named_parameters())
    }  # taken once: they stay what they are
    stepper = Stepper(ours, AdamW(ours.parameters(), 0.01, eps=1e-3), accumulate=2, pack=pack)
    for x, y in stepper.over(data):
        loss = (functional_call(ours, given, (x,)) - y).square().mean()
        stepper.backward(loss, items=len(y))
    big_batches(theirs, AdamW(theirs.parameters(), 0.01, eps=1e-3), windows(data, 2))
    assert_same_model(ours, theirs)


class Masters(nn.Module):
    """Parameters in float64, for a model that computes in float32 with copies of them."""

    def __init__(self) -> None:
        super().__init__()
        self.masters = nn.ParameterDict(
            {name.replace(".", "_"): p.detach() for name, p in net().named_parameters()}
        )
        self.names = [name for name, _ in net().named_parameters()]
        object.__setattr__(self, "low", net(dtype=torch.float32).requires_grad_(False))

    def forward(self, x: Tensor) -> Tensor:
        copies = {name: self.masters[name.replace(".", "_")].float() for name in self.names}
        out: Tensor = functional_call(vars(self)["low"], copies, (x.float(),))
        return out


def mse(model: nn.Module, batch: Batch) -> Tensor:
    x, y = batch
    loss: Tensor = (model(x) - y.float()).square().mean()
    return loss


@PACK
def test_master_copies_that_the_user_keeps_are_trained_in_their_own_precision(pack: bool) -> None:
    ours, theirs = Masters(), Masters()
    data = micro_batches(4, 1, 3, 2, 5)
    stepper = Stepper(ours, AdamW(ours.parameters(), 0.01, eps=1e-3), accumulate=2, pack=pack)
    for batch in stepper.over(data):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    other = AdamW(theirs.parameters(), 0.01, eps=1e-3)
    big_batches(theirs, other, windows(data, 2), loss=mse)
    assert all(p.dtype is torch.float64 for p in ours.parameters())
    assert_same(ours.state_dict(), theirs.state_dict(), tolerance=1e-5)


@PACK
def test_low_precision_with_copies_kept_by_hand_gives_what_the_plain_loop_gives(pack: bool) -> None:
    """The old way: the optimizer has the copies, and a hook carries them back into the model."""
    trained = []
    for by_stepper in (True, False):
        low = net(dtype=torch.bfloat16)
        masters = nn.ParameterList([p.detach().float() for p in low.parameters()])
        optimizer = AdamW(masters.parameters(), 0.01)

        def carry(*_: object, low: nn.Module = low, masters: nn.Module = masters) -> None:
            with torch.no_grad():
                for p, master in zip(low.parameters(), masters.parameters(), strict=True):
                    p.copy_(master)

        optimizer.register_step_post_hook(carry)
        stepper = Stepper(masters, optimizer, pack=pack)
        for x, y in micro_batches(4, 4, 4, dtype=torch.bfloat16):
            loss = (low(x) - y).square().mean()
            grads = torch.autograd.grad(loss, list(low.parameters()))
            if by_stepper:
                pairs = zip(masters.parameters(), grads, strict=True)
                stepper.backward(sum(((m * g.float()).sum() for m, g in pairs), torch.zeros(())))
            else:
                for master, grad in zip(masters.parameters(), grads, strict=True):
                    master.grad = grad.float()
                optimizer.step()
                optimizer.zero_grad()
        trained.append(masters)
    assert_same_model(*trained, exact=True)
