"""Lightning Fabric."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from lightning.fabric import Fabric
from lightning.fabric.plugins import MixedPrecision
from torch.nn.functional import mse_loss

from benchmarks.tasks import Data, Loop, Task
from benchmarks.trainers import Pair, Work


class WithFabric:
    """The plain loop with Fabric's backward, clipping and saving."""

    how: ClassVar[dict[str, str]] = {
        "train": "fabric.backward(loss / N) and no_backward_sync, as in its guide 'Efficient "
        "Gradient Accumulation'",
        "half": "the same with the plugin MixedPrecision('16-mixed', 'cpu', scaler)",
        "catch": "try around forward and backward; after a fault of the data the pass begins "
        "again, as its iterator has ended",
        "save": "fabric.save and fabric.load of model, optimizer and iteration, as in its guide "
        "'Saving and Loading Checkpoints'; so many batches skipped afterwards",
        "two": "fabric.setup of each net with its optimizer, the loop as by hand",
    }

    def train(self, work: Work) -> None:
        fabric = _fabric(work)
        prepared = _Prepared(fabric, work)
        while not prepared.ended():
            pass

    def train_two(self, pair: Pair) -> None:
        fabric = Fabric(accelerator="cpu", devices=1)
        pair.critic, critic = fabric.setup(pair.critic, pair.critic_optimizer)
        pair.generator, generator = fabric.setup(pair.generator, pair.generator_optimizer)
        for i, (noise, real) in enumerate(fabric.setup_dataloaders(pair.data), 1):
            for _, loss in pair.turns(noise, real):
                fabric.backward(loss() / pair.window)
            if i % pair.window == 0:
                for optimizer in (critic, generator):
                    optimizer.step()
                    optimizer.zero_grad()

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        prepared = _Prepared(_fabric(work), work)
        prepared.ended(end=count)
        prepared.fabric.save(folder / "checkpoint.ckpt", prepared.state(count))

    def resume(self, work: Work, folder: Path) -> None:
        prepared = _Prepared(_fabric(work), work)
        state = prepared.state(0)
        prepared.fabric.load(folder / "checkpoint.ckpt", state)
        prepared.ended(begin=state["iteration"])


class _Prepared:
    def __init__(self, fabric: Fabric, work: Work) -> None:
        self.fabric, self.work = fabric, work
        self.model, self.optimizer = fabric.setup(work.model, work.optimizer)
        self.data = fabric.setup_dataloaders(work.data)

    def state(self, iteration: int) -> dict[str, Any]:
        return {"model": self.model, "optimizer": self.optimizer, "iteration": iteration}

    def ended(self, begin: int = 0, end: int | None = None) -> bool:
        """Whether the pass came to its end, and not to a fault of the data."""
        work, fabric = self.work, self.fabric
        try:
            for i, (x, y) in enumerate(self.data, 1):
                if i <= begin:
                    continue
                accumulating = i % work.window != 0
                try:
                    with fabric.no_backward_sync(self.model, enabled=accumulating):
                        loss = work.criterion(self.model(x), y) / work.window
                        fabric.backward(loss)
                except work.catches:
                    continue
                work.meddle(i, self.optimizer)
                if not accumulating:
                    if work.clip is not None:
                        fabric.clip_gradients(self.model, self.optimizer, max_norm=work.clip)
                    self.optimizer.step()
                    if work.scheduler is not None:
                        work.scheduler.step()
                    self.optimizer.zero_grad()
                if i == end:
                    break
        except work.catches:
            return False
        return True


def _fabric(work: Work) -> Fabric:
    precision = MixedPrecision("16-mixed", "cpu", work.scaler()) if work.half else None
    return Fabric(accelerator="cpu", devices=1, plugins=precision)


def loop(task: Task, window: int) -> Loop:
    """The guide's, with batches that need no preparing."""
    plain, plain_optimizer = task.make()
    fabric = Fabric(accelerator="cpu", devices=1)
    model, optimizer = fabric.setup(plain, plain_optimizer)

    def run(data: Data) -> None:
        for i, (x, y) in enumerate(data, 1):
            accumulating = i % window != 0
            with fabric.no_backward_sync(model, enabled=accumulating):
                fabric.backward(mse_loss(model(x), y) / window)
            if not accumulating:
                if task.clip is not None:
                    fabric.clip_gradients(model, optimizer, max_norm=task.clip)
                optimizer.step()
                optimizer.zero_grad()

    return Loop(model, run)
