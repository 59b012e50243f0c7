"""Nothing waits for a device that the plain loop would not wait for.

On the meta device there are no values, so that reading one raises. On the CPU, reads are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import SGD, AdamW, Optimizer, RMSprop
from torch.utils._python_dispatch import TorchDispatchMode

from gradledger import Stepper

READS = {"_local_scalar_dense", "nonzero", "is_nonzero", "equal", "masked_select", "unique"}
"""What has to know values: an item(), a bool(), a tolist(), and shapes that depend on data."""

MAKERS: dict[str, Callable[[Any], Optimizer]] = {
    "sgd": lambda ps: SGD(ps, 0.1, momentum=0.9),
    "adamw": lambda ps: AdamW(ps, 0.01, foreach=True),
    "rmsprop": lambda ps: RMSprop(ps, 0.01),
}


def layers(device: str) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)


def train(stepper: Stepper, model: nn.Module, batches: int, device: str) -> None:
    data = [torch.ones(3, 4, device=device) for _ in range(batches)]
    for x in stepper.over(data):
        stepper.backward(model(x).square().mean(), items=3)


class Reads(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the calls that a device would have to be waited for."""

    count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        self.count += func.overloadpacket.__name__ in READS
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    "options",
    [
        {"clip_norm": 1.0},
        {"clip_value": 1.0},
        {"clip_norm": 1.0, "accumulate": 3},
        {"clip_norm": [1.0], "accumulate": 3, "pack": False},
        {"accumulate": 3, "release": "eager", "clip_norm": 1.0},
        {"release": "eager"},
    ],
    ids=str,
)
def test_with_allow_nothing_is_read_from_the_device(name: str, options: dict[str, Any]) -> None:
    model = layers("meta")
    optimizer = MAKERS[name](model.parameters())
    stepper = Stepper(model, optimizer, on_nonfinite="allow", **options)
    train(stepper, model, 7, "meta")
    assert stepper.updates == -(-7 // options.get("accumulate", 1))


def test_reading_would_be_noticed() -> None:
    model = layers("meta")
    stepper = Stepper(model, SGD(model.parameters(), 0.1))  # which checks for NaN
    with pytest.raises((RuntimeError, NotImplementedError)):
        train(stepper, model, 1, "meta")


def test_the_check_is_one_wait_for_each_window_and_not_for_each_parameter() -> None:
    model = layers("cpu")
    optimizer = SGD(model.parameters(), 0.1, momentum=0.9)
    stepper = Stepper(model, optimizer, accumulate=2, clip_norm=1.0)
    train(stepper, model, 4, "cpu")
    with Reads() as reads:  # type: ignore[no-untyped-call]
        train(stepper, model, 6, "cpu")
    assert (stepper.updates, reads.count) == (5, 3)


def reads_of_a_scaler(step: Callable[[Tensor], Any]) -> Iterator[int]:
    for _ in range(3):
        with Reads() as reads:  # type: ignore[no-untyped-call]
            step(torch.ones(3, 4))
        yield reads.count


def test_with_a_scaler_there_are_the_waits_of_the_scaler_and_two_more() -> None:
    model = layers("cpu")
    optimizer = SGD(model.parameters(), 0.1)
    scaler = GradScaler("cpu", init_scale=8.0)

    def plainly(x: Tensor) -> None:
        optimizer.zero_grad()
        scaler.scale(model(x).square().mean()).backward()
        scaler.step(optimizer)
        scaler.update()

    theirs = list(reads_of_a_scaler(plainly))
    model = layers("cpu")
    optimizer = SGD(model.parameters(), 0.1)
    stepper = Stepper(model, optimizer, scaler=GradScaler("cpu", init_scale=8.0))
    ours = list(reads_of_a_scaler(lambda x: stepper.backward(model(x).square().mean())))
    assert [a - b for a, b in zip(ours, theirs, strict=True)] == [2, 2, 2]
