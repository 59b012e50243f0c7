"""Random trainings: a model, an optimizer, options of the Stepper, unequal batches, faults, saves.

`GRADLEDGER_FUZZ=2000 make test-slow PYTEST_ARGS='-k test_fuzz'` tries 2,000.
"""

from __future__ import annotations

import copy
import os
import random
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn, optim
from torch.optim import Optimizer
from torch.optim.lr_scheduler import StepLR

from gradledger import Stepper
from tests.processes import PROCESSES

from .loops import Boom

ROWS, WIDTH = 6, 6


class Mixed(nn.Module):
    """Branches, of which a batch takes one, a tied weight, and a layer that is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.frozen = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.frozen.requires_grad_(False)
        self.branches = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(self.frozen(x).tanh()).tanh()
        x = self.branches[int(x[0, 0] > 0)](x)
        out: Tensor = self.first(x)
        return out


class Words(nn.Module):
    """An embedding, of which a batch uses a part, and attention."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, WIDTH)
        self.layer = nn.TransformerEncoderLayer(WIDTH, 2, 8, dropout=0.0, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        at = (x * 3).round().long().clamp(-4, 4) + 4
        out: Tensor = self.layer(self.words(at)).mean(1)
        return out


class Picture(nn.Module):
    """Convolution and norms, in either memory format."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.GELU())
        self.head = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.body(x[:, None, :, None]).flatten(1))
        return out


def _channels_last(model: nn.Module) -> nn.Module:
    """Its filters in that order; what it is given stays as it is."""
    for p in model.parameters():
        if p.dim() == 4:
            p.data = p.data.contiguous(memory_format=torch.channels_last)
    return model


MODELS: dict[str, Callable[[], nn.Module]] = {
    "deep": lambda: nn.Sequential(
        *(each for _ in range(4) for each in (nn.Linear(WIDTH, WIDTH), nn.Tanh()))
    ),
    "dropout": lambda: nn.Sequential(
        nn.Linear(WIDTH, 40), nn.Dropout(0.2), nn.LayerNorm(40), nn.Linear(40, WIDTH)
    ),
    "mixed": Mixed,
    "words": Words,
    "picture": Picture,
    "channels last": lambda: _channels_last(Picture()),
    "recurrent": lambda: nn.Sequential(nn.Linear(WIDTH, WIDTH), Recurrent()),
    "large": lambda: nn.Sequential(nn.Linear(WIDTH, 3000), nn.ReLU(), nn.Linear(3000, WIDTH)),
}


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRU(WIDTH, WIDTH, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.cell(x[:, None].expand(-1, 3, -1))[0][:, -1]
        return out


OPTIMIZERS: dict[str, tuple[type[Optimizer], dict[str, Any]]] = {
    "sgd": (optim.SGD, {"lr": 0.05, "weight_decay": 0.01}),
    "momentum": (optim.SGD, {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    "momentum, foreach": (optim.SGD, {"lr": 0.05, "momentum": 0.9, "foreach": True}),
    "adam": (optim.Adam, {"lr": 0.01, "amsgrad": True, "eps": 0.1}),
    "adamw": (optim.AdamW, {"lr": 0.01, "eps": 0.1}),
    "adamw, fused": (optim.AdamW, {"lr": 0.01, "eps": 0.1, "fused": True}),
    "nadam": (optim.NAdam, {"lr": 0.01, "eps": 0.1}),
    "radam": (optim.RAdam, {"lr": 0.01, "eps": 0.1}),
    "adagrad": (optim.Adagrad, {"lr": 0.02, "eps": 0.1}),
    "adadelta": (optim.Adadelta, {"eps": 0.1}),
    "adamax": (optim.Adamax, {"lr": 0.01, "eps": 0.1}),
    "asgd": (optim.ASGD, {"lr": 0.01}),
    "rmsprop": (optim.RMSprop, {"lr": 0.01, "eps": 0.1, "centered": True}),
    "adafactor": (optim.Adafactor, {"lr": 0.01, "eps": (0.1, 0.1)}),
}


@dataclass(frozen=True)
class Micro:
    """A micro-batch: rows, and where it fails."""

    rows: int
    fault: str
    pieces: int
    """Losses."""


@dataclass(frozen=True)
class Training:
    """All of one configuration."""

    seed: int
    model: str
    optimizer: str
    groups: bool
    scheduled: bool
    accumulate: int
    options: dict[str, Any]
    epochs: int
    micros: tuple[Micro, ...]

    @classmethod
    def drawn(cls, seed: int) -> Training:
        chance = random.Random(seed)
        accumulate = chance.choice([1, 1, 2, 3, 4, 7])
        groups = chance.random() < 0.3
        options: dict[str, Any] = {"pack": chance.random() < 0.75}
        clip = chance.choice(["", "clip_norm", "clip_value", "each"])
        if clip == "each" and groups:
            options["clip_norm"] = [chance.choice([None, 0.3]), 0.1]
        elif clip in ("clip_norm", "clip_value"):
            options[clip] = chance.choice([0.01, 0.3, 10.0])
        options["on_fault"] = chance.choice(["continue", "continue", "drop"])
        eager = accumulate > 1 and chance.random() < 0.25
        if eager:
            options["release"] = "eager"
        micros = tuple(
            Micro(
                chance.randint(1, ROWS),
                chance.choice(["", "", "", "", "", "forward", "" if eager else "backward"]),
                1 if eager else chance.choice([1, 1, 1, 2]),
            )
            for _ in range(chance.randint(2, 9))
        )
        return cls(
            seed,
            chance.choice(sorted(MODELS)),
            chance.choice(sorted(OPTIMIZERS)),
            groups,
            chance.random() < 0.3,
            accumulate,
            options,
            chance.choice([1, 2]),
            micros,
        )

    def made(self, seed: int) -> tuple[nn.Module, Optimizer, StepLR | None]:
        torch.manual_seed(seed)
        model = MODELS[self.model]().double()
        kind, options = OPTIMIZERS[self.optimizer]
        parameters = list(model.parameters())
        groups: list[Any] = [{"params": parameters}]
        if self.groups:
            groups = [{"params": parameters[:2]}, {"params": parameters[2:], "lr": 0.003}]
        optimizer = kind(groups, **copy.deepcopy(options))
        return model, optimizer, StepLR(optimizer, 2, 0.5) if self.scheduled else None

    def data(self) -> list[tuple[Tensor, Tensor, Micro]]:
        generator = torch.Generator().manual_seed(self.seed)
        return [
            (
                torch.randn(micro.rows, WIDTH, generator=generator, dtype=torch.float64),
                torch.randn(micro.rows, WIDTH, generator=generator, dtype=torch.float64),
                micro,
            )
            for micro in self.micros
        ]

    def losses(self, model: nn.Module, x: Tensor, y: Tensor, micro: Micro) -> list[Tensor]:
        """Those of one micro-batch. Its faults come in the last of them."""
        squares = (model(x) - y).square()
        losses = [squares.mean()]
        if micro.pieces == 2:
            losses.append(squares.abs().sqrt().mean() * 0.1 + squares.mean() * 0.5)
        if micro.fault == "forward":
            raise Boom
        if micro.fault == "backward":
            losses[-1].register_hook(_fail)  # type: ignore[no-untyped-call, unused-ignore]
        return losses


def _fail(_: Tensor) -> None:
    raise Boom


@dataclass
class Run:
    """The objects of one process."""

    training: Training
    model: nn.Module
    optimizer: Optimizer
    scheduler: StepLR | None
    stepper: Stepper

    @classmethod
    def made(cls, training: Training, seed: int = 0) -> Run:
        model, optimizer, scheduler = training.made(seed)
        stepper = Stepper(
            model,
            optimizer,
            accumulate=training.accumulate,
            scheduler=scheduler,
            **training.options,
        )
        return cls(training, model, optimizer, scheduler, stepper)

    def go(self, seen: Callable[[int], object] = lambda n: None) -> Run:
        """To the end. `seen` is called after each micro-batch, and may raise."""
        n = 0
        for _ in range(self.stepper.epoch, self.training.epochs):
            for x, y, micro in self.stepper.over(self.training.data()):
                n += 1
                try:
                    losses = self.training.losses(self.model, x, y, micro)
                    for i, loss in enumerate(losses, 1):
                        more = i < len(losses)
                        self.stepper.backward(loss, items=len(y), more=more, retain_graph=more)
                except Boom:
                    pass
                seen(n)
        return self

    def outcome(self) -> dict[str, Any]:
        stepper = self.stepper
        return copy.deepcopy(
            {
                "model": dict(self.model.state_dict()),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
                "counts": [stepper.updates, stepper.dropped, stepper.epoch],
                "random": torch.get_rng_state(),
            }
        )


def by_hand(training: Training) -> dict[str, Any]:
    """The same with nothing but torch: each window's gradient is added up, divided and spent."""
    model, optimizer, scheduler = training.made(0)
    updates = dropped = 0
    size = training.accumulate
    for _ in range(training.epochs):
        data = training.data()
        for window in (data[at : at + size] for at in range(0, len(data), size)):
            total: dict[nn.Parameter, Tensor] = {}
            weight, lost = 0, False
            for x, y, micro in window:
                if lost:
                    continue
                try:
                    losses = training.losses(model, x, y, micro)
                    optimizer.zero_grad()
                    torch.autograd.backward(losses)
                except Boom:
                    lost = training.options["on_fault"] == "drop"
                    continue
                weight += len(y)
                for p in model.parameters():
                    if p.grad is not None:
                        total[p] = total.get(p, torch.zeros(())) + p.grad * len(y)
            dropped += lost
            optimizer.zero_grad()
            if lost or not weight:
                continue
            for p, grad in total.items():
                p.grad = torch.empty_like(p).copy_(grad / weight)
            _clip(training, optimizer)
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
            if scheduler is not None:
                scheduler.step()
    return {
        "model": dict(model.state_dict()),
        "optimizer": optimizer.state_dict(),
        "scheduler": None if scheduler is None else scheduler.state_dict(),
        "counts": [updates, dropped, training.epochs],
    }


def _clip(training: Training, optimizer: Optimizer) -> None:
    groups: list[Iterable[Tensor]] = [group["params"] for group in optimizer.param_groups]
    norm, value = training.options.get("clip_norm"), training.options.get("clip_value")
    if isinstance(norm, list):
        for group, each in zip(groups, norm, strict=True):
            if each is not None:
                nn.utils.clip_grad_norm_(group, each)
    elif norm is not None:
        nn.utils.clip_grad_norm_([p for group in groups for p in group], norm)
    if value is not None:
        nn.utils.clip_grad_value_([p for group in groups for p in group], value)


# Stopped and resumed ------------------------------------------------------------------------------


class Stop(Exception):
    """The process ends here."""


def resumed(training: Training, path: Path) -> Run:
    """Saved at random places; each time, new objects go on from there."""
    chance = random.Random(training.seed + 1)
    run = Run.made(training)
    for again in range(1, 4):

        def seen(n: int, run: Run = run) -> None:
            if chance.random() < 0.3:
                run.stepper.save(path)
                raise Stop

        try:
            return run.go(seen)
        except Stop:
            run = Run.made(training, 1000 * again)
            run.stepper.load(path)
    return run.go()


def killed(training: Training, path: Path) -> Run:
    """A child saves now and then, and is killed anywhere: between micro-batches or within one."""
    Run.made(training).stepper.save(path)  # in case it is killed before its first
    # No fork of this process: autograd may have threads here, and refuses to walk in such a fork.
    child = PROCESSES.Process(target=_live, args=(training, path, torch.get_num_threads()))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL, "it ended by itself"
    run = Run.made(training, 77)
    run.stepper.load(path)
    return run.go()


def _live(training: Training, path: Path, threads: int) -> None:
    """Until it is killed. With other threads, sums are made in another order."""
    torch.set_num_threads(threads)
    chance = random.Random(training.seed + 2)
    last = len(training.micros) * training.epochs
    every, at = chance.randint(1, 3), chance.randint(1, last)
    run = Run.made(training)
    if chance.random() < 0.5:
        parameters = [p for p in run.model.parameters() if p.requires_grad]
        calls = [0]

        def die(_: Tensor) -> None:
            calls[0] += 1
            if calls[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)

        chance.choice(parameters).register_hook(die)  # type: ignore[no-untyped-call]

    def seen(n: int) -> None:
        if n % every == 0:
            run.stepper.save(path)
        if n == at:
            os.kill(os.getpid(), signal.SIGKILL)

    run.go(seen)
