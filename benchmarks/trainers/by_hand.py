"""The loop with every care that can be taken by hand."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import torch
from torch.nn.utils import clip_grad_norm_

from benchmarks.trainers import Pair, Work, draws, items


class ByHand:
    """Sums, a count of the items, and all that has to be thought of."""

    how: ClassVar[dict[str, str]] = {
        "train": "sums of losses; gradients divided by the window's items before the step; the "
        "last window stepped; neither step nor scheduler.step where the norm is not finite",
        "catch": "try around the forward, and another around the backward that gives up the window",
        "save": "also the gradients, the random numbers now and when the pass began, and the items",
        "two": "requires_grad_(False) on the critic while it is the generator's turn",
    }

    def train(self, work: Work) -> None:
        _Careful(work).run()

    def train_two(self, pair: Pair) -> None:
        count = 0
        for noise, real in pair.data:
            count += 1
            for who, loss in pair.turns(noise, real):
                pair.critic.requires_grad_(who == "critic")
                loss().backward()
            if count == pair.window:
                for optimizer in pair.optimizers().values():
                    _divide(optimizer, count)
                    optimizer.step()
                    optimizer.zero_grad()
                count = 0

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        careful = _Careful(work)
        careful.run(count)
        careful.save(folder / "checkpoint.pt")

    def resume(self, work: Work, folder: Path) -> None:
        careful = _Careful(work)
        careful.load(folder / "checkpoint.pt")
        careful.run()


class _Careful:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.scaler = work.scaler()
        self.first_rng = torch.get_rng_state()
        self.rng: torch.Tensor | None = None
        self.drawn = 0
        self.items = 0

    def run(self, end: int | None = None) -> None:
        work = self.work
        torch.set_rng_state(self.first_rng)  # the order of the data is drawn from it
        batches = draws(work.data, work.catches)
        for _ in range(self.drawn):
            next(batches)
        if self.rng is not None:
            torch.set_rng_state(self.rng)
        for x, y in batches:
            self.drawn += 1
            self.deposit(x, y)
            work.meddle(self.drawn, work.optimizer)
            if self.drawn % work.window == 0:
                self.step()
            if self.drawn == end:
                return
        self.step()

    def deposit(self, x: torch.Tensor, y: torch.Tensor) -> None:
        work = self.work
        try:
            with work.autocast():
                loss = work.criterion(work.model(x), y, reduction="sum")
        except work.catches:
            return
        try:
            self.scaler.scale(loss).backward()
        except work.catches:  # some parameters have their gradient by now, others not
            work.optimizer.zero_grad()
            self.items = 0
        else:
            self.items += items(y)

    def step(self) -> None:
        work = self.work
        if self.items == 0:
            return
        self.scaler.unscale_(work.optimizer)
        _divide(work.optimizer, self.items)
        norm = clip_grad_norm_(work.model.parameters(), work.clip or float("inf"))
        if work.half:
            self.scaler.step(work.optimizer)
            self.scaler.update()
        elif norm.isfinite():
            work.optimizer.step()
        if norm.isfinite() and work.scheduler is not None:
            work.scheduler.step()
        work.optimizer.zero_grad()
        self.items = 0

    def save(self, path: Path) -> None:
        work = self.work
        state = {
            "model": work.model.state_dict(),
            "optimizer": work.optimizer.state_dict(),
            "gradients": [p.grad for p in work.model.parameters()],
            "first_rng": self.first_rng,
            "rng": torch.get_rng_state(),
            "drawn": self.drawn,
            "items": self.items,
        }
        torch.save(state, path)

    def load(self, path: Path) -> None:
        work, state = self.work, torch.load(path)
        work.model.load_state_dict(state["model"])
        work.optimizer.load_state_dict(state["optimizer"])
        for parameter, gradient in zip(work.model.parameters(), state["gradients"], strict=True):
            parameter.grad = gradient
        self.first_rng, self.rng = state["first_rng"], state["rng"]
        self.drawn, self.items = state["drawn"], state["items"]


def _divide(optimizer: torch.optim.Optimizer, count: int) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad /= count
