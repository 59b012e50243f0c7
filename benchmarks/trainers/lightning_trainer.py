"""The Lightning Trainer."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from lightning.pytorch import LightningModule
from lightning.pytorch import Trainer as Lightning
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.precision import MixedPrecision
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.optim import Optimizer

from benchmarks.tasks import Loop, Task
from benchmarks.trainers import Batch, Pair, Work, items
from benchmarks.trainers.pacing import Paced
from gradledger.integrations.lightning import ExactWindows

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class LightningTrainer:
    """Automatic optimization; manual optimization for two nets."""

    how: ClassVar[dict[str, str]] = {
        "train": "Trainer(accumulate_grad_batches=N, gradient_clip_val=…), automatic optimization "
        "('Effective Training Techniques')",
        "half": "the same with the plugin MixedPrecision('16-mixed', 'cpu', scaler)",
        "catch": "training_step returns None after a fault in it ('LightningModule', "
        "training_step), its backward hook catches one there; fit again after a fault of the data",
        "save": "ModelCheckpoint after each step and fit(ckpt_path=…), as in 'Saving and loading "
        "checkpoints'",
        "two": "manual optimization with toggled_optimizer, as in 'Manual Optimization'",
    }

    def train(self, work: Work) -> None:
        half = MixedPrecision("16-mixed", "cpu", work.scaler()) if work.half else None
        module = _Module(work)
        trainer = _trainer(work, plugins=half)
        while True:
            try:
                return trainer.fit(module, work.data)
            except work.catches:
                continue

    def train_two(self, pair: Pair) -> None:
        _trainer().fit(_TwoNets(pair), pair.data)

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        saving = ModelCheckpoint(folder, "checkpoint", every_n_train_steps=1)
        with suppress(_Cut):
            _trainer(work, callbacks=[saving]).fit(_Module(work, end=count), work.data)

    def resume(self, work: Work, folder: Path) -> None:
        path = folder / "checkpoint.ckpt"
        _trainer(work).fit(_Module(work), work.data, ckpt_path=path)


class LightningExact:
    """A module with the mixin."""

    how: ClassVar[dict[str, str]] = LightningTrainer.how | {
        "train": "the mixin ExactWindows, and fit(module, module.over(loader)) "
        "(docs/frameworks.md, 'Exact windows')",
        "catch": "try around forward and self.stepper.backward; fit again after a fault of the "
        "data",
        "two": "the same with self.steppers, one for each optimizer",
    }

    def train(self, work: Work) -> None:
        half = MixedPrecision("16-mixed", "cpu", work.scaler()) if work.half else None
        module = _Exact(work)
        trainer = _trainer(plugins=half)
        while True:
            try:
                return trainer.fit(module, module.over(work.data))
            except work.catches:
                continue

    def train_two(self, pair: Pair) -> None:
        module = _TwoNetsExactly(pair)
        _trainer().fit(module, module.over(pair.data))

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        saving = ModelCheckpoint(folder, "checkpoint", every_n_train_steps=1)
        module = _Exact(work, end=count)
        with suppress(_Cut):
            _trainer(callbacks=[saving]).fit(module, module.over(work.data))

    def resume(self, work: Work, folder: Path) -> None:
        module = _Exact(work)
        path = folder / "checkpoint.ckpt"
        _trainer().fit(module, module.over(work.data), ckpt_path=path)


class _Cut(Exception):
    """The end of a run that nobody wanted."""


class _Module(LightningModule):
    def __init__(self, work: Work, end: int | None = None) -> None:
        super().__init__()
        self.model, self.work, self.end = work.model, work, end

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor | None:
        if batch_idx == self.end:
            raise _Cut
        x, y = batch
        try:
            return self.work.criterion(self.model(x), y)
        except self.work.catches:
            return None

    def backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        with suppress(*self.work.catches):
            super().backward(loss, *args, **kwargs)

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        self.work.meddle(batch_idx + 1, self.optimizers())

    def configure_optimizers(self) -> Any:
        if self.work.scheduler is None:
            return self.work.optimizer
        scheduler = {"scheduler": self.work.scheduler, "interval": "step"}
        return {"optimizer": self.work.optimizer, "lr_scheduler": scheduler}


class _Exact(ExactWindows, LightningModule):
    def __init__(self, work: Work, end: int | None = None) -> None:
        super().__init__(accumulate=work.window, clip_norm=work.clip)
        self.model, self.work, self.end = work.model, work, end

    def training_step(self, batch: Batch, batch_idx: int) -> None:
        if batch_idx == self.end:
            raise _Cut
        x, y = batch
        try:
            loss = self.work.criterion(self.model(x), y)
            self.stepper.backward(loss, items=items(y))
        except self.work.catches:
            return

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        self.work.meddle(batch_idx + 1, self.optimizers())

    configure_optimizers = _Module.configure_optimizers


class _TwoNetsExactly(ExactWindows, LightningModule):
    def __init__(self, pair: Pair) -> None:
        super().__init__(accumulate=pair.window)
        self.generator, self.critic, self.pair = pair.generator, pair.critic, pair

    def training_step(self, batch: Batch, batch_idx: int) -> None:
        noise, real = batch
        steppers = dict(zip(self.pair.optimizers(), self.steppers, strict=True))
        for who, loss in self.pair.turns(noise, real):
            steppers[who].backward(loss(), items=len(real))

    def configure_optimizers(self) -> Any:
        return tuple(self.pair.optimizers().values())


class _TwoNets(LightningModule):
    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.generator, self.critic, self.pair = pair.generator, pair.critic, pair

    def training_step(self, batch: Batch, batch_idx: int) -> None:
        noise, real = batch
        pair = self.pair
        optimizers = dict(zip(pair.optimizers(), self.optimizers(), strict=True))
        for who, loss in pair.turns(noise, real):
            with self.toggled_optimizer(optimizers[who]):
                self.manual_backward(loss() / pair.window)
        if (batch_idx + 1) % pair.window == 0:
            for optimizer in optimizers.values():
                optimizer.step()
                optimizer.zero_grad()

    def configure_optimizers(self) -> Any:
        return tuple(self.pair.optimizers().values())


def _trainer(work: Work | None = None, **options: Any) -> Lightning:
    return Lightning(
        accelerator="cpu",
        devices=1,
        max_epochs=1,
        accumulate_grad_batches=1 if work is None else work.window,
        gradient_clip_val=None if work is None else work.clip,
        enable_checkpointing="callbacks" in options,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
        **options,
    )


def loop(task: Task, window: int) -> Loop:
    """In its barebones mode, which is there to see what the Trainer itself costs."""
    model, optimizer = task.make()

    def train(batches: Iterator[Batch]) -> None:
        trainer = Lightning(
            barebones=True,
            accelerator="cpu",
            devices=1,
            max_epochs=1,
            accumulate_grad_batches=window,
            gradient_clip_val=task.clip,
        )
        trainer.fit(module, _Endless(batches))

    paced = Paced(train)
    module = _Timed(model, optimizer, paced)
    return Loop(model, paced.run)


class _Endless:
    """Of a length that is known, as those of most loaders are: it draws none ahead then."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self.batches = batches

    def __iter__(self) -> Iterator[Batch]:
        return self.batches

    def __len__(self) -> int:
        return 10**9


class _Timed(LightningModule):
    def __init__(self, model: nn.Module, optimizer: Optimizer, paced: Paced) -> None:
        super().__init__()
        self.model, self.optimizer, self.paced = model, optimizer, paced

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        x, y = batch
        return mse_loss(self.model(x), y)

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        self.paced.trained()

    def configure_optimizers(self) -> Any:
        return self.optimizer
