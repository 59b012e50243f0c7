"""Asked for fewer gradients than in a plain loop, torch may crash: there it is asked for all."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD

from gradledger import LossError, Stepper

from .loops import assert_equal

PROGRAM = """
import sys
import torch
from torch import nn
from gradledger import Stepper

torch.manual_seed(0)
front, norm = nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8)
model = nn.Sequential(front, norm).to(memory_format=torch.channels_last)
norm.bias.requires_grad_("frozen" not in sys.argv)
stepper = Stepper(
    model,
    torch.optim.SGD([p for p in norm.parameters() if p.requires_grad], 0.1),
    accumulate=2,
    allow=["unowned"],
)
x = torch.randn(4, 2, 3, 8, 8)
expected = norm.weight.detach().clone()
for each in x:
    each = each.contiguous(memory_format=torch.channels_last)
    stepper.backward(model(each).square().mean(), items=2)
if "contiguous" not in sys.argv:
    assert front.weight.grad is None
    assert not torch.equal(norm.weight, expected)
print("trained", stepper.updates)
"""


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("bias", ["frozen", "trained"])
def test_a_group_norm_behind_what_another_trains_does_not_crash_in_channels_last(bias: str) -> None:
    assert run(bias) == "trained 2\n"


def _trained(*, whole: bool) -> list[Tensor]:
    torch.manual_seed(0)
    front, norm = nn.Conv2d(3, 8, 3).double(), nn.GroupNorm(2, 8).double()
    model: Any = nn.Sequential(front, norm)
    format_ = torch.channels_last if whole else torch.contiguous_format
    stepper = Stepper(
        model.to(memory_format=format_), SGD(norm.parameters(), 0.1), allow=["unowned"]
    )
    front.weight.grad = torch.ones_like(front.weight)
    for _ in range(3):
        x = torch.randn(2, 3, 8, 8, dtype=torch.float64).to(memory_format=format_)
        stepper.backward(model(x).square().mean(), items=2)
    assert torch.equal(front.weight.grad, torch.ones_like(front.weight))
    return [p.detach().clone() for p in norm.parameters()]


def test_it_is_trained_as_in_the_other_format_and_cells_of_others_stay_as_they_were() -> None:
    for one, other in zip(_trained(whole=True), _trained(whole=False), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_where_it_can_not_be_asked_for_all_it_is_an_error_and_no_crash() -> None:
    front, norm = nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8)
    model: Any = nn.Sequential(front, norm)
    model.to(memory_format=torch.channels_last)
    stepper = Stepper(model, SGD(norm.parameters(), 0.1), release="eager", allow=["unowned"])
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    with pytest.raises(LossError, match="GroupNorm in channels_last"):
        stepper.backward(model(x).square().mean())


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "BatchNorm": lambda: nn.BatchNorm2d(8),
    "InstanceNorm": lambda: nn.InstanceNorm2d(8, affine=True),
    "LayerNorm": lambda: nn.LayerNorm((8, 6, 6)),
    "Conv": lambda: nn.Conv2d(8, 4, 3),
    "grouped Conv": lambda: nn.Conv2d(8, 8, 3, groups=8),
    "dilated Conv": lambda: nn.Conv2d(8, 4, 2, dilation=2),
    "ConvTranspose": lambda: nn.ConvTranspose2d(8, 4, 3, stride=2),
    "PReLU": lambda: nn.PReLU(8),
    "Linear": lambda: nn.Linear(6, 3),
    "GroupNorm, contiguous": lambda: nn.GroupNorm(2, 8),
}


@pytest.mark.parametrize("name", LAYERS)
def test_other_layers_give_the_same_gradients_whatever_they_are_asked_for(name: str) -> None:
    torch.manual_seed(0)
    layer = LAYERS[name]()
    format_ = torch.contiguous_format if "contiguous" in name else torch.channels_last
    x = torch.randn(2, 8, 6, 6).to(memory_format=format_).requires_grad_()
    leaves = [x, *layer.parameters()]
    seed = torch.randn_like(layer(x))
    every = torch.autograd.grad(layer(x), leaves, seed)
    for asked in itertools.product([False, True], repeat=len(leaves)):
        if any(asked):
            some = torch.autograd.grad(layer(x), list(itertools.compress(leaves, asked)), seed)
            assert_equal(list(some), list(itertools.compress(every, asked)), f"{asked}: ")
