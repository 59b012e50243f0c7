"""Models of all kinds: compiled, in other memory formats, checkpointed, recurrent."""

from __future__ import annotations

import copy
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW
from torch.utils.checkpoint import checkpoint

from gradledger import Stepper
from gradledger.errors import GradledgerError

from .loops import (
    Batch,
    assert_same,
    assert_same_model,
    big_batches,
    micro_batches,
    mse,
    net,
    plain,
    windows,
)

PACK = pytest.mark.parametrize("pack", [True, False], ids=["packed", "loose"])


@PACK
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, while compiling
@pytest.mark.parametrize("first", ["compile", "stepper"])
def test_a_compiled_model_is_trained(first: str, pack: bool) -> None:
    ours, theirs = net(), net()
    optimizer = AdamW(ours.parameters(), 0.01, eps=1e-3)
    data = micro_batches(4, 4, 4, 4)
    torch._dynamo.reset()
    if first == "compile":
        compiled = torch.compile(ours, backend="aot_eager")
        stepper = Stepper(ours, optimizer, accumulate=2, pack=pack)
    else:
        stepper = Stepper(ours, optimizer, accumulate=2, pack=pack)
        compiled = torch.compile(ours, backend="aot_eager")
    for x, y in stepper.over(data):
        stepper.backward((compiled(x) - y).square().mean(), items=4)
    big_batches(theirs, AdamW(theirs.parameters(), 0.01, eps=1e-3), windows(data, 2))
    assert_same_model(ours, theirs)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_compiled_model_may_be_the_steppers_model() -> None:
    ours, theirs = net(), net()
    torch._dynamo.reset()
    compiled: Any = torch.compile(ours, backend="aot_eager")
    data = micro_batches(4, 4)
    stepper = Stepper(compiled, SGD(compiled.parameters(), 0.1))
    for batch in stepper.over(data):
        stepper.backward(mse(compiled, batch), items=4)
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data, 1))
    assert_same_model(ours, theirs)


def pictures(model: nn.Module, *, channels_last: bool) -> list[Batch]:
    generator = torch.Generator().manual_seed(4)
    found = []
    for size in (2, 3, 1, 2):
        x = torch.randn(size, 3, 6, 6, generator=generator, dtype=torch.float64)
        y = torch.randn(size, 2, generator=generator, dtype=torch.float64)
        if channels_last:
            x = x.to(memory_format=torch.channels_last)
        found.append((x, y))
    return found


def conv() -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Conv2d(4, 2, 4), nn.Flatten(1)
        ).double()


@PACK
def test_channels_last_is_trained_and_stays_channels_last(pack: bool) -> None:
    ours, theirs = conv(), conv()
    ours.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    a, b = (AdamW(model.parameters(), 0.01, eps=1e-3) for model in (ours, theirs))
    stepper = Stepper(ours, a, accumulate=2, clip_norm=0.5, pack=pack)
    for batch in stepper.over(pictures(ours, channels_last=True)):
        stepper.backward(mse(ours, batch), items=len(batch[1]))
    data = pictures(theirs, channels_last=False)
    big_batches(theirs, b, windows(data, 2), clip_norm=0.5)
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())
    weight = next(ours.parameters())
    assert weight.is_contiguous(memory_format=torch.channels_last)
    assert not weight.is_contiguous()


@PACK
def test_channels_last_may_come_later(pack: bool) -> None:
    ours, theirs = conv(), conv()
    a, b = (AdamW(model.parameters(), 0.01, eps=1e-3) for model in (ours, theirs))
    stepper = Stepper(ours, a, accumulate=2, pack=pack)
    for last in (False, True):
        if last:
            ours.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        for batch in stepper.over(pictures(ours, channels_last=last)):
            stepper.backward(mse(ours, batch), items=len(batch[1]))
        data = pictures(theirs, channels_last=False)
        big_batches(theirs, b, windows(data, 2))
    assert_same_model(ours, theirs)
    assert_same(a.state_dict(), b.state_dict())


def recomputed(model: nn.Module, batch: Batch, reentrant: bool) -> Tensor:
    assert isinstance(model, nn.Sequential)
    x = batch[0].clone().requires_grad_(reentrant)
    hidden = checkpoint(model[0], x, use_reentrant=reentrant)
    out: Tensor = checkpoint(lambda h: model[2](model[1](h)), hidden, use_reentrant=reentrant)
    return (out - batch[1]).square().mean()


@PACK
def test_activation_checkpointing_is_exact(pack: bool) -> None:
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2)
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=2, pack=pack)
    for batch in stepper.over(data):
        stepper.backward(recomputed(ours, batch, reentrant=False), items=len(batch[1]))
    big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data, 2))
    assert_same_model(ours, theirs)


@PACK
def test_reentrant_checkpointing_is_refused_or_exact(pack: bool) -> None:
    """Its backward within the backward deposits wherever it likes."""
    ours, theirs = net(), net()
    data = micro_batches(4, 1, 3, 2)
    optimizer = SGD(ours.parameters(), 0.1)
    stepper = Stepper(ours, optimizer, accumulate=2, pack=pack)
    before = copy.deepcopy(ours.state_dict())
    try:
        for batch in stepper.over(data):
            stepper.backward(recomputed(ours, batch, reentrant=True), items=len(batch[1]))
    except (GradledgerError, RuntimeError):
        assert_same(ours.state_dict(), before, exact=True)
    else:
        big_batches(theirs, SGD(theirs.parameters(), 0.1), windows(data, 2))
        assert_same_model(ours, theirs)
    assert all(p.grad is None for p in ours.parameters())


@PACK
def test_batch_norm_and_dropout_run_once_per_micro_batch(pack: bool) -> None:
    def make() -> nn.Sequential:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return nn.Sequential(
                nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Dropout(0.3), nn.Linear(4, 3)
            ).double()

    ours, theirs = make(), make()
    data = micro_batches(4, 4, 4, 4)
    a, b = (SGD(model.parameters(), 0.1, momentum=0.9) for model in (ours, theirs))
    with torch.random.fork_rng():
        torch.manual_seed(5)
        stepper = Stepper(ours, a, accumulate=2, pack=pack)
        for batch in stepper.over(data):
            stepper.backward(mse(ours, batch))
        torch.manual_seed(5)
        plain(theirs, b, data, 2)
    assert_same_model(ours, theirs)


class Recurrent(nn.Module):
    """Reads a sequence chunk by chunk."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.lstm = nn.LSTM(2, 4, batch_first=True).double()
            self.head = nn.Linear(4, 1).double()

    def forward(self, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        out, state = self.lstm(x, state)
        return self.head(out), state


def chunks() -> list[Batch]:
    generator = torch.Generator().manual_seed(6)
    return [
        (
            torch.randn(3, steps, 2, generator=generator, dtype=torch.float64),
            torch.randn(3, steps, 1, generator=generator, dtype=torch.float64),
        )
        for steps in (5, 5, 5, 2, 5)
    ]


@PACK
@pytest.mark.parametrize("accumulate", [1, 2])
def test_truncated_backpropagation_through_time_is_right(accumulate: int, pack: bool) -> None:
    ours, theirs = Recurrent(), Recurrent()
    stepper = Stepper(ours, SGD(ours.parameters(), 0.1), accumulate=accumulate, pack=pack)
    state: Any = None
    for x, y in stepper.over(chunks()):
        out, state = ours(x, state)
        stepper.backward((out - y).square().mean(), items=y.numel())
        state = stepper.detach(state)
        assert not any(each.requires_grad for each in state)
    optimizer = SGD(theirs.parameters(), 0.1)
    state = None
    for window in windows(chunks(), accumulate):
        total = torch.zeros((), dtype=torch.float64)
        for x, y in window:
            out, state = theirs(x, state)
            total = total + (out - y).square().sum()
            state = tuple(each.detach() for each in state)
        optimizer.zero_grad()
        torch.autograd.backward(total / sum(y.numel() for _, y in window))
        optimizer.step()
    assert_same_model(ours, theirs)


Named = namedtuple("Named", ["hidden", "cell"])


@dataclass
class Held:
    """A state of the user's own."""

    hidden: Tensor
    steps: int


@dataclass(frozen=True)
class Frozen:
    """One that can't be changed."""

    hidden: Tensor
    name: str


def test_detach_goes_through_what_states_are_made_of() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    out = model(micro_batches(2)[0][0])
    state = {
        "tuple": (out, out * 2),
        "list": [out, None],
        "named": Named(out, out + 1),
        "held": Held(out, 3),
        "frozen": Frozen(out, "x"),
        "nested": {"deep": [({"deeper": out},)]},
        "text": "kept",
        "number": 4,
    }
    found = stepper.detach(state)
    assert list(found) == list(state)
    named, held, frozen = found["named"], found["held"], found["frozen"]
    assert isinstance(named, Named)
    assert isinstance(held, Held)
    assert isinstance(frozen, Frozen)
    assert isinstance(found["tuple"], tuple)
    tensors = [
        *found["tuple"],
        found["list"][0],  # type: ignore[index]
        named.hidden,
        named.cell,
        held.hidden,
        frozen.hidden,
        found["nested"]["deep"][0][0]["deeper"],  # type: ignore[index]
    ]
    for each in tensors:
        assert isinstance(each, Tensor)
        assert not each.requires_grad
    assert_same(tensors[0], out)
    assert found["list"][1] is None  # type: ignore[index]
    assert (found["text"], found["number"], held.steps, frozen.name) == ("kept", 4, 3, "x")
    assert out.requires_grad, "what was given is as it was"
    assert state["held"].hidden.requires_grad  # type: ignore[attr-defined]


def test_detach_gives_a_tensor_or_nothing_as_it_comes() -> None:
    model = net()
    stepper = Stepper(model, SGD(model.parameters(), 0.1))
    out = model(micro_batches(2)[0][0])
    assert not stepper.detach(out).requires_grad
    assert stepper.detach(None) is None
    assert out.requires_grad


@pytest.mark.slow  # a compiler
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:The .grad attribute")  # torch's
@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_whole_step_that_is_compiled_is_the_step_that_is_not(accumulate: int) -> None:
    ours, theirs = net(), net()
    data = micro_batches(*[4] * 6)
    a, b = AdamW(ours.parameters(), 0.01), AdamW(theirs.parameters(), 0.01)
    stepper = Stepper(ours, a, accumulate=accumulate, clip_norm=0.1)

    def step(batch: Batch) -> None:
        stepper.backward(mse(ours, batch), items=len(batch[1]))

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled: Any = torch.compile(step, backend="aot_eager")
    for batch in stepper.over(data):
        compiled(batch)
    plain_stepper = Stepper(theirs, b, accumulate=accumulate, clip_norm=0.1)
    for batch in plain_stepper.over(data):
        plain_stepper.backward(mse(theirs, batch), items=len(batch[1]))
    assert stepper.updates == 6 // accumulate
    assert_same_model(ours, theirs, tolerance=1e-14)
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    assert graphs <= 4, "the Stepper itself was traced"
