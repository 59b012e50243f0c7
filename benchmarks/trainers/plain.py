"""The loop as people write it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import torch
from torch.nn.utils import clip_grad_norm_

from benchmarks.trainers import Pair, Work, draws


class PlainLoop:
    """The loss divided by the window, a step after every so many batches."""

    how: ClassVar[dict[str, str]] = {
        "train": "loss / N; step and zero_grad when (i + 1) % N == 0",
        "half": "as in PyTorch's 'Automatic Mixed Precision examples', 'Gradient accumulation' and "
        "'Gradient clipping'",
        "catch": "try around forward and backward, `continue` in its except; next() again after a "
        "fault of the data",
        "save": "the states of model and optimizer and the number of batches, as in PyTorch's "
        "'Saving and loading a general checkpoint'; so many batches skipped afterwards",
        "two": "both losses / N, both optimizers stepped and cleared at the end of the window",
    }

    def train(self, work: Work) -> None:
        self._train(work)

    def _train(self, work: Work, begin: int = 0, end: int | None = None) -> None:
        model, optimizer, scaler = work.model, work.optimizer, work.scaler()
        for i, (x, y) in enumerate(draws(work.data, work.catches)):
            if i < begin:
                continue
            try:
                with work.autocast():
                    loss = work.criterion(model(x), y) / work.window
                scaler.scale(loss).backward()
            except work.catches:
                continue
            work.meddle(i + 1, optimizer)
            if (i + 1) % work.window == 0:
                if work.clip is not None:
                    scaler.unscale_(optimizer)
                    clip_grad_norm_(model.parameters(), work.clip)
                scaler.step(optimizer)
                scaler.update()
                if work.scheduler is not None:
                    work.scheduler.step()
                optimizer.zero_grad()
            if i + 1 == end:
                return

    def train_two(self, pair: Pair) -> None:
        for i, (noise, real) in enumerate(pair.data):
            for _, loss in pair.turns(noise, real):
                (loss() / pair.window).backward()
            if (i + 1) % pair.window == 0:
                for optimizer in pair.optimizers().values():
                    optimizer.step()
                    optimizer.zero_grad()

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        self._train(work, end=count)
        state = {"model": work.model.state_dict(), "optimizer": work.optimizer.state_dict()}
        torch.save(state | {"batches": count}, folder / "checkpoint.pt")

    def resume(self, work: Work, folder: Path) -> None:
        state = torch.load(folder / "checkpoint.pt")
        work.model.load_state_dict(state["model"])
        work.optimizer.load_state_dict(state["optimizer"])
        self._train(work, begin=state["batches"])
