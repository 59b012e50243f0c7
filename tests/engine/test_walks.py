"""A walk straight into torch's engine does what `torch.autograd.backward` does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from gradledger.engine import walks
from gradledger.engine.walks import walk


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which way each walk took."""
    ways: list[str] = []
    front, engine = walks._FRONT_DOOR, walks._ENGINE
    assert engine is not None, "this torch has no engine by that name, so all walks are slow"

    def straight(*args: Any, **kwargs: Any) -> object:
        ways.append("engine")
        return engine(*args, **kwargs)

    def through_the_door(*args: Any, **kwargs: Any) -> None:
        ways.append("front door")
        front(*args, **kwargs)

    monkeypatch.setattr(walks, "_ENGINE", straight)
    monkeypatch.setattr(walks, "_FRONT_DOOR", through_the_door)
    monkeypatch.setattr(torch.autograd, "backward", through_the_door)
    return ways


@pytest.fixture
def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()


def loss_of(net: nn.Module) -> Tensor:
    x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    return torch.as_tensor(net(x).square().mean())


def gradients(net: nn.Module) -> Iterator[Tensor]:
    """Taken out of the cells."""
    for p in net.parameters():
        assert p.grad is not None
        yield p.grad
        p.grad = None


def test_deposits_bit_for_bit_what_torch_does(net: nn.Module, asked: list[str]) -> None:
    walk(loss_of(net), list(net.parameters()), retain_graph=False)
    assert asked == ["engine"]
    ours = list(gradients(net))
    torch.autograd.backward(loss_of(net))
    for mine, theirs in zip(ours, gradients(net), strict=True):
        assert torch.equal(mine, theirs)


def test_deposits_into_the_inputs_and_nowhere_else(net: nn.Module, asked: list[str]) -> None:
    first, *others = net.parameters()
    walk(loss_of(net), [first], retain_graph=False)
    assert first.grad is not None
    assert all(p.grad is None for p in others)


def test_a_graph_is_kept_only_on_request(net: nn.Module, asked: list[str]) -> None:
    loss = loss_of(net)
    inputs = list(net.parameters())
    walk(loss, inputs, retain_graph=True)
    walk(loss, inputs, retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        walk(loss, inputs, retain_graph=False)


def test_a_hook_that_changes_the_gradient_of_a_loss_changes_that_of_no_other(
    net: nn.Module, asked: list[str]
) -> None:
    inputs = list(net.parameters())
    for _ in range(2):
        loss = loss_of(net)
        loss.register_hook(lambda gradient: gradient.data.mul_(3))  # type: ignore[no-untyped-call]
        walk(loss, inputs, retain_graph=False)
    hooked = list(gradients(net))
    torch.autograd.backward(loss_of(net))
    for mine, theirs in zip(hooked, gradients(net), strict=True):
        torch.testing.assert_close(mine, theirs * 6)


def test_who_replaces_backward_is_asked(
    net: nn.Module, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    front = torch.autograd.backward

    def watched(*args: Any, **kwargs: Any) -> None:
        seen.append("watched")
        front(*args, **kwargs)

    monkeypatch.setattr(torch.autograd, "backward", watched)
    walk(loss_of(net), list(net.parameters()), retain_graph=False)
    assert seen == ["watched"]
    assert asked == ["front door"]


def test_a_mode_that_overrides_torch_is_asked(net: nn.Module, asked: list[str]) -> None:
    class Mode(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    loss = loss_of(net)
    with Mode():
        walk(loss, list(net.parameters()), retain_graph=False)
    assert asked[:1] == ["front door"]
    assert list(gradients(net))


def test_a_tensor_of_its_own_class_is_asked(asked: list[str]) -> None:
    class Own(Tensor):
        pass

    p = nn.Parameter(torch.ones(2))
    walk((p * 2).sum().as_subclass(Own), [p], retain_graph=False)
    assert asked[:1] == ["front door"]
    assert p.grad is not None


def test_a_loss_with_an_imaginary_part_gets_torchs_own_words(asked: list[str]) -> None:
    p = nn.Parameter(torch.ones(2, dtype=torch.complex64))
    with pytest.raises(RuntimeError, match="real scalar"):
        walk(p.sum(), [p], retain_graph=False)


def test_a_torch_without_that_engine_is_asked_at_the_front_door(
    net: nn.Module, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "_ENGINE", None)
    walk(loss_of(net), list(net.parameters()), retain_graph=False)
    assert asked == ["front door"]
    assert list(gradients(net))
