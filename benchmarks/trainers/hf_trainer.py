"""The Trainer of Hugging Face Transformers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import RandomSampler
from transformers import PrinterCallback, TrainerCallback, TrainingArguments
from transformers import Trainer as Transformers
from transformers.utils.logging import set_verbosity

from benchmarks.tasks import Loop, Task
from benchmarks.trainers import Batch, NotOffered, Pair, Work
from benchmarks.trainers.pacing import Paced
from gradledger.integrations.transformers import ExactTrainer

set_verbosity(logging.ERROR)

Criterion = Callable[..., Tensor]


class HFTrainer:
    """A model that gives its loss, as the Trainer expects."""

    how: ClassVar[dict[str, str]] = {
        "train": "TrainingArguments(gradient_accumulation_steps=N) and a model that gives its mean "
        "loss, as in its guide 'Gradient accumulation'",
        "half": "TrainingArguments(fp16=True)",
        "catch": "training_step overridden with a try around it, as in its guide 'Trainer', "
        "'Customize'; train again after a fault of the data",
        "save": "a checkpoint after each step and train(resume_from_checkpoint=True), as in its "
        "guide 'Trainer', 'Checkpoints'",
    }
    items_counted = False

    @property
    def kind(self) -> Any:
        """Which Trainer."""
        return _Catching

    def train(self, work: Work) -> None:
        with TemporaryDirectory() as folder:
            trainer = self._trainer(work, Path(folder))
            while True:
                try:
                    trainer.train()
                    return
                except work.catches:
                    continue

    def train_two(self, pair: Pair) -> None:
        raise NotOffered("one net, one optimizer")

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        trainer = self._trainer(work, folder, save_strategy="steps", save_steps=1)
        trainer.left = count
        with suppress(_Cut):
            trainer.train()

    def resume(self, work: Work, folder: Path) -> None:
        self._trainer(work, folder).train(resume_from_checkpoint=True)

    def _trainer(self, work: Work, folder: Path, **options: Any) -> Any:
        shuffled = isinstance(work.data.sampler, RandomSampler)
        arguments = _arguments(
            folder,
            work.window,
            work.clip,
            fp16=work.half,
            train_sampling_strategy="random" if shuffled else "sequential",
            **options,
        )
        constant = LambdaLR(work.optimizer, lambda _: 1.0)
        trainer = self.kind(
            work,
            model=_WithoutLoss(work.model)
            if self.items_counted
            else _WithLoss(work.model, work.criterion),
            args=arguments,
            data_collator=_first,
            train_dataset=work.data.dataset,
            optimizers=(work.optimizer, work.scheduler or constant),
            callbacks=[_Meddling(work)],
            compute_loss_func=_counted(work.criterion) if self.items_counted else None,
        )
        trainer.remove_callback(PrinterCallback)
        if work.half and trainer.accelerator.scaler is None:
            raise NotOffered("no GradScaler on a CPU")
        return trainer


class HFTrainerItems(HFTrainer):
    """The loss function that is told the number of items."""

    how: ClassVar[dict[str, str]] = HFTrainer.how | {
        "train": "compute_loss_func gives the sum of the losses / num_items_in_batch, as in its "
        "guide 'Gradient accumulation', 'Loss scaling', and as models of the library do",
    }
    items_counted = True


class HFTrainerExact(HFTrainer):
    """ExactTrainer, with a model that gives its mean loss."""

    how: ClassVar[dict[str, str]] = HFTrainer.how | {
        "train": "ExactTrainer in place of Trainer, with a model that gives its mean loss "
        "(docs/frameworks.md, 'Exact windows')",
    }

    @property
    def kind(self) -> Any:
        return _CatchingExactly


class _Cut(Exception):
    """The end of a run that nobody wanted."""


class _WithLoss(nn.Module):
    def __init__(self, model: nn.Module, criterion: Criterion) -> None:
        super().__init__()
        self.model, self.criterion = model, criterion

    def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
        return {"loss": self.criterion(self.model(x), labels)}


class _WithoutLoss(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"logits": self.model(x)}


def _counted(criterion: Criterion) -> Criterion:
    def compute_loss(outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
        loss = criterion(outputs["logits"], labels, reduction="sum")
        return loss.div(num_items_in_batch)

    return compute_loss


class _Catches:
    """What the user adds to a Trainer."""

    def __init__(self, work: Work, **options: Any) -> None:
        self.work = work
        self.left = -1
        super().__init__(**options)

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        if self.left == 0:
            raise _Cut
        self.left -= 1
        try:
            loss: Tensor = super().training_step(*args, **kwargs)  # type: ignore[misc]
        except self.work.catches:
            return torch.tensor(0.0)
        return loss


class _Catching(_Catches, Transformers):
    pass


class _CatchingExactly(_Catches, ExactTrainer):  # type: ignore[misc]
    pass


class _Meddling(TrainerCallback):
    def __init__(self, work: Work) -> None:
        self.work = work
        self.done = 0

    def on_substep_end(self, *_: Any, **given: Any) -> None:
        self.done += 1
        self.work.meddle(self.done, given["optimizer"])

    on_step_end = on_substep_end


def _first(rows: list[Batch]) -> dict[str, Tensor]:
    ((x, y),) = rows
    return {"x": x, "labels": y}


def _arguments(folder: Path, window: int, clip: float | None, **options: Any) -> TrainingArguments:
    return TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=1,  # a row of the data is a micro-batch as it is
        gradient_accumulation_steps=window,
        max_grad_norm=clip or 0.0,
        num_train_epochs=1,
        use_cpu=True,
        remove_unused_columns=False,
        report_to="none",
        logging_strategy="no",
        disable_tqdm=True,
        **{"save_strategy": "no"} | options,
    )


def loop(task: Task, window: int) -> Loop:
    """The same, with data that never ends."""
    model, optimizer = task.make()

    def train(batches: Iterator[Batch]) -> None:
        with TemporaryDirectory() as folder:
            trainer = _Endless(
                batches,
                model=_WithLoss(model, mse_loss),
                args=_arguments(Path(folder), window, task.clip),
                optimizers=(optimizer, LambdaLR(optimizer, lambda _: 1.0)),
                callbacks=[_Ticking(paced)],
            )
            trainer.train()

    paced = Paced(train)
    return Loop(model, paced.run)


class _Endless(Transformers):
    """Its loader gives the batches as they are."""

    def __init__(self, batches: Iterator[Batch], **options: Any) -> None:
        self.batches = batches
        super().__init__(**options)

    def get_train_dataloader(self) -> Any:
        return _Rows(self.batches)


class _Rows:
    def __init__(self, batches: Iterator[Batch]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return 10**9

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        return ({"x": x, "labels": y} for x, y in self.batches)


class _Ticking(TrainerCallback):
    def __init__(self, paced: Paced) -> None:
        self.paced = paced

    def on_substep_end(self, *_: Any, **__: Any) -> None:
        self.paced.trained()

    on_step_end = on_substep_end
