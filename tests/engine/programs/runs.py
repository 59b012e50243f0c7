"""Training runs of many kinds, each of which can be saved anywhere and resumed elsewhere.

python -m tests.engine.programs.runs CASE CHECKPOINT RESULT ...: resumes each, in this process.
"""

from __future__ import annotations

import copy
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn, optim
from torch.amp import GradScaler
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, OneCycleLR, StepLR
from torch.utils.data import DataLoader, Dataset, TensorDataset

from gradledger import Stepper

EPOCHS = 3
BATCHES = 5
ROWS = 2

Batch: TypeAlias = Sequence[Tensor]
Seen: TypeAlias = Callable[["Run", int], None]


class Boom(Exception):
    """The data, or the user's code, fails."""


class Net(nn.Module):
    """With dropout, a buffer, and two branches of which a batch takes one."""

    seen: Tensor

    def __init__(self, *, branches: bool = False) -> None:
        super().__init__()
        self.first = nn.Linear(5, 7)
        self.drop = nn.Dropout(0.3)
        self.left = nn.Linear(7, 3)
        self.right = nn.Linear(7, 3) if branches else None
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.seen += 1
        hidden = self.drop(self.first(x).tanh())
        branch = self.right if self.right is not None and x[0, 0] > 0 else self.left
        out: Tensor = branch(hidden)
        return out


@dataclass
class Run:
    """A program's objects, as a process makes them anew."""

    model: nn.Module
    optimizers: list[Optimizer]
    stepper: Stepper
    data: Iterable[Any] | Callable[[], Iterable[Any]]
    schedulers: list[LRScheduler] = field(default_factory=list)
    scaler: GradScaler | None = None
    noise: Callable[[Tensor], Tensor] = lambda x: x
    """What the loop itself draws at random."""
    fails: bool = False
    run: bool = False
    items: bool = True

    def loss(self, batch: Batch) -> Tensor:
        x, y = batch
        if self.fails and x[0, 1] > 0.8:
            raise Boom
        out = self.model(self.noise(x))
        loss: Tensor = (out - y.to(out.dtype)).square().mean()
        if self.fails and x[0, 1] < -0.8:
            loss.register_hook(_fail)  # type: ignore[no-untyped-call]
        return loss

    def pass_over(self) -> Iterable[Any]:
        return self.data() if callable(self.data) else self.data

    def go(self, seen: Seen = lambda run, n: None) -> Run:
        """From where the Stepper is to the end. `seen` is called after every micro-batch."""
        n = 0
        for _ in range(self.stepper.epoch, EPOCHS):
            for batch in self.stepper.over(self.pass_over()):
                n += 1
                try:
                    if self.run:
                        self.stepper.run(batch, self.loss, items=len(batch[1]))
                    else:
                        items = len(batch[1]) if self.items else None
                        self.stepper.backward(self.loss(batch), items=items)
                except Boom:
                    continue
                seen(self, n)
            seen(self, -self.stepper.epoch)
        return self

    def outcome(self) -> dict[str, Any]:
        """All that could differ."""
        stepper = self.stepper
        return copy.deepcopy(
            {
                "model": dict(self.model.state_dict()),
                "optimizers": [each.state_dict() for each in self.optimizers],
                "schedulers": [each.state_dict() for each in self.schedulers],
                "scaler": None if self.scaler is None else self.scaler.state_dict(),
                "counts": [stepper.updates, stepper.skipped, stepper.dropped, stepper.epoch],
                "torch": torch.get_rng_state(),
                "python": random.getstate(),
                "numpy": torch.from_numpy(
                    np.random.get_state(legacy=False)["state"]["key"].astype("int64")
                ),
                "stepper": stepper.state_dict(),
            }
        )


def _fail(_: Tensor) -> None:
    raise Boom


# Data -----------------------------------------------------------------------------------------


def rows(count: int = ROWS * BATCHES, *, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    generator = torch.Generator().manual_seed(11)
    xs = torch.randn(count, 5, generator=generator).to(dtype)
    return [xs, torch.randn(count, 3, generator=generator).to(dtype)]


def listed(**options: Any) -> list[tuple[Tensor, Tensor]]:
    xs, ys = rows(**options)
    return list(zip(torch.split(xs, ROWS), torch.split(ys, ROWS), strict=True))


def loader(*, own: bool = False, seed: int = 0, count: int = 10, **options: Any) -> Iterable[Any]:
    generator = torch.Generator().manual_seed(seed) if own else None
    data: Dataset[Any] = options.pop("dataset", None) or TensorDataset(*rows(count))
    shuffled: DataLoader[Any] = DataLoader(
        data, batch_size=ROWS, shuffle=True, generator=generator, **options
    )
    return shuffled


class Augmented(Dataset[Any]):
    """Each row is drawn with noise."""

    def __init__(self) -> None:
        self.rows = rows()

    def __len__(self) -> int:
        return len(self.rows[0])

    def __getitem__(self, at: int) -> tuple[Tensor, Tensor]:
        return self.rows[0][at] + 0.1 * torch.randn(5), self.rows[1][at]


def generated() -> Iterator[tuple[Tensor, Tensor]]:
    xs, ys = rows()
    for at in torch.split(torch.randperm(len(xs)), ROWS):
        yield xs[at] + 0.1 * torch.randn(len(at), 5), ys[at]


def all_kinds_of_noise(x: Tensor) -> Tensor:
    return x * (1 + 0.1 * random.random() + 0.1 * float(np.random.rand())) + torch.randn_like(x)


# Cases ----------------------------------------------------------------------------------------


def make(
    seed: int,
    *,
    optimizer: Callable[..., Optimizer] = optim.AdamW,
    options: dict[str, Any] | None = None,
    data: Any = None,
    branches: bool = False,
    dtype: torch.dtype = torch.float32,
    scaled: bool = False,
    cycle: bool = False,
    rest: dict[str, Any] | None = None,
    **stepper: Any,
) -> Run:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    model = Net(branches=branches).to(dtype)
    one = optimizer(model.parameters(), **{"lr": 0.05, **(options or {})})
    schedulers: list[LRScheduler] = []
    if cycle:
        schedulers = [OneCycleLR(one, 0.1, total_steps=EPOCHS * BATCHES)]
    scaler = GradScaler("cpu", init_scale=8.0, growth_interval=2) if scaled else None
    built = Stepper(
        model,
        one,
        **{"accumulate": 2, "scaler": scaler, "scheduler": schedulers or None, **stepper},
    )
    data = listed(dtype=dtype) if data is None else data
    return Run(model, [one], built, data, schedulers, scaler, **(rest or {}))


def two_optimizers(seed: int) -> Run:
    run = make(seed)
    assert isinstance(run.model, Net)
    both = [
        optim.SGD(run.model.first.parameters(), lr=0.1, momentum=0.9),
        optim.Adagrad(run.model.left.parameters(), lr=0.1),
    ]
    cycle = OneCycleLR(both[1], 0.1, total_steps=20, cycle_momentum=False)
    schedulers: list[LRScheduler] = [StepLR(both[0], 2), cycle]
    stepper = Stepper(run.model, both, accumulate=3, scheduler=schedulers, clip_norm=[0.5, None])
    return Run(run.model, both, stepper, listed(), schedulers)


def overflowing() -> list[tuple[Tensor, Tensor]]:
    data = listed()
    data[3][0][0] *= 1e30
    return data


CASES: dict[str, Callable[[int], Run]] = {
    "AdamW": make,
    "pack=False": lambda seed: make(seed, pack=False),
    "windows of 1": lambda seed: make(seed, accumulate=1),
    "a window longer than the data": lambda seed: make(seed, accumulate=9),
    "SGD momentum": lambda seed: make(
        seed, optimizer=optim.SGD, options={"momentum": 0.9, "nesterov": True}
    ),
    "Adagrad": lambda seed: make(seed, optimizer=optim.Adagrad),
    "NAdam": lambda seed: make(seed, optimizer=optim.NAdam),
    "clip_norm": lambda seed: make(seed, clip_norm=0.1, accumulate=3),
    "clip_norm, pack=False": lambda seed: make(seed, clip_norm=0.1, accumulate=3, pack=False),
    "bfloat16": lambda seed: make(seed, dtype=torch.bfloat16, accumulate=3, clip_norm=0.5),
    "bfloat16, pack=False": lambda seed: make(seed, dtype=torch.bfloat16, accumulate=3, pack=False),
    "scaler": lambda seed: make(seed, scaled=True, data=overflowing(), clip_norm=0.5),
    "OneCycleLR": lambda seed: make(seed, cycle=True),
    "OneCycleLR, scaler": lambda seed: make(seed, cycle=True, scaled=True, data=overflowing()),
    "two optimizers": two_optimizers,
    "shuffled": lambda seed: make(seed, data=loader()),
    "shuffled by its own generator": lambda seed: make(seed, data=loader(own=True, seed=seed)),
    "a shorter last batch": lambda seed: make(seed, data=loader(count=9), accumulate=3),
    "augmented": lambda seed: make(seed, data=loader(dataset=Augmented())),
    "augmented, own generator": lambda seed: make(
        seed, data=loader(own=True, seed=seed, dataset=Augmented())
    ),
    "a generator": lambda seed: make(seed, data=generated),
    "without items": lambda seed: make(seed, rest={"items": False}),
    "noise of three kinds": lambda seed: make(seed, rest={"noise": all_kinds_of_noise}),
    "faults": lambda seed: make(seed, data=loader(), accumulate=3, rest={"fails": True}),
    "faults that drop": lambda seed: make(
        seed, data=loader(), accumulate=3, on_fault="drop", rest={"fails": True}
    ),
    "branches": lambda seed: make(seed, data=loader(), branches=True, accumulate=1),
    "branches, windows of 2": lambda seed: make(seed, data=loader(), branches=True),
    "run": lambda seed: make(seed, accumulate=3, rest={"run": True}),
    "eager": lambda seed: make(seed, accumulate=1, release="eager", pack=False),
}
MANY_PROCESSES: dict[str, Callable[[int], Run]] = {
    "two workers": lambda seed: make(seed, data=loader(dataset=Augmented(), num_workers=2)),
    "two workers, own generator": lambda seed: make(
        seed, data=loader(own=True, seed=seed, dataset=Augmented(), num_workers=2)
    ),
}


def main(arguments: Sequence[str]) -> None:
    for case, path, result in zip(*(arguments[i::3] for i in range(3)), strict=True):
        run = (CASES | MANY_PROCESSES)[case](os.getpid())
        run.stepper.load(path)
        torch.save(run.go().outcome(), result)


if __name__ == "__main__":
    main(sys.argv[1:])
