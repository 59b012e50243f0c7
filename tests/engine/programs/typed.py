"""User code that uses all of the Stepper's API, as mypy --strict sees it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import SGD, AdamW
from torch.optim.lr_scheduler import LRScheduler, OneCycleLR, StepLR
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper
from gradledger.errors import (
    CheckpointError,
    GradledgerError,
    LossError,
    MisuseError,
    NonFiniteGradient,
    TornUpdateError,
)


class Example(NamedTuple):
    x: Tensor
    y: Tensor


class State(NamedTuple):
    hidden: Tensor
    cell: Tensor


def examples(count: int) -> Iterator[Example]:
    for _ in range(count):
        yield Example(torch.randn(4, 3), torch.randn(4, 2))


def plain(model: nn.Module, path: Path) -> None:
    optimizer = AdamW(model.parameters())
    stepper = Stepper(model, optimizer)
    for example in stepper.over(examples(3)):
        made: bool = stepper.backward((model(example.x) - example.y).square().mean())
        assert made
    for x, y in stepper.over([(torch.ones(1, 3), torch.ones(1, 2))]):
        stepper.backward((model(x) - y).square().mean(), items=len(y), retain_graph=True)
    loader: DataLoader[tuple[Tensor, ...]] = DataLoader(
        TensorDataset(torch.ones(4, 3), torch.ones(4, 2)), batch_size=2
    )
    for batch in stepper.over(loader):
        x, y = batch
        labels = y > 0
        loss = (model(x) - y).square().mean()
        stepper.backward(loss, items=(labels != -100).sum(), more=True)
        stepper.backward(model(x).mean(), items=(labels != -100).sum())
    length: int = len(stepper.over(loader))
    assert length == 2
    stepper.save(path)
    stepper.save(str(path))
    stepper.load(path)


def every_option(model: nn.Module) -> Stepper:
    first, second = SGD(list(model.parameters())[:1], lr=0.1), SGD(list(model.parameters())[1:])
    schedulers: list[LRScheduler] = [StepLR(first, 1), OneCycleLR(second, 0.1, 10)]
    Stepper(model, (first, second), clip_value=0.5, on_fault="drop", scheduler=StepLR(first, 1))
    return Stepper(
        model,
        [first, second],
        accumulate=4,
        clip_norm=[1.0, None],
        scaler=GradScaler("cpu"),
        scheduler=schedulers,
        on_fault="continue",
        on_nonfinite="raise",
        pack=False,
        release="window",
    )


def recurrent(model: nn.LSTM) -> None:
    stepper = Stepper(model, SGD(model.parameters(), lr=0.1), accumulate=2, clip_norm=1.0)
    state = State(torch.zeros(1, 4), torch.zeros(1, 4))
    for chunk in stepper.over(torch.randn(5, 4, 3)):
        output, (hidden, cell) = model(chunk, state)
        stepper.backward(output.mean(), items=4.0)
        state = stepper.detach(State(hidden, cell))
    stepper.flush()
    stepper.drop()


def split(model: nn.Module) -> Tensor:
    stepper = Stepper(model, SGD(model.parameters(), lr=0.1))

    def loss_of(example: Example) -> tuple[Tensor, int]:
        return (model(example.x) - example.y).square().mean(), len(example.y)

    for example in stepper.over(examples(2)):
        loss = stepper.run(example, loss_of)
    return stepper.run(Example(torch.ones(2, 3), torch.ones(2, 2)), loss_of, items=2) + loss


def read(stepper: Stepper) -> str:
    skip = stepper.last_skip
    if skip is not None:
        names: tuple[str, ...] = skip.parameters
        culprits: tuple[int, ...] = skip.micro_batches
        update: int = skip.update
        print(names, culprits, update)
    numbers: list[int] = [
        stepper.updates,
        stepper.skipped,
        stepper.dropped,
        stepper.epoch,
        stepper.micro_batches,
    ]
    norm: float | None = stepper.grad_norm
    state: dict[str, Any] = stepper.state_dict()
    stepper.load_state_dict(state)
    return f"{numbers} {norm} {stepper.plan()}"


def guarded(stepper: Stepper, loss: Tensor) -> None:
    try:
        stepper.backward(loss)
    except (LossError, MisuseError, NonFiniteGradient, TornUpdateError, CheckpointError) as error:
        base: GradledgerError = error
        raise base from None
