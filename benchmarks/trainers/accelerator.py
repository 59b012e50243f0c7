"""Hugging Face Accelerate."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState
from accelerate.utils import DataLoaderConfiguration
from torch.nn.functional import mse_loss

from benchmarks.tasks import Data, Loop, Task
from benchmarks.trainers import Batch, NotOffered, Pair, Work, items
from gradledger.integrations.accelerate import make_stepper

GUIDE = "its guide 'Performing gradient accumulation with Accelerate'"


class WithAccelerate:
    """`with accelerator.accumulate(model)` around everything."""

    how: ClassVar[dict[str, str]] = {
        "train": f"with accelerator.accumulate(model), as in {GUIDE}, 'The finished code'",
        "half": "Accelerator(mixed_precision='fp16')",
        "catch": "try around the `with`; after a fault of the data the pass begins again, as its "
        "iterator has ended",
        "save": "save_state, load_state and skip_first_batches, as in its guide 'Checkpointing', "
        "'Restoring the state of the DataLoader', with use_seedable_sampler=True",
        "two": "with accelerator.accumulate(critic, generator), as in its reference, `accumulate`",
    }

    def train(self, work: Work) -> None:
        accelerator = _accelerator(work.window, half=work.half)
        prepared = _Prepared(accelerator, work)
        while not prepared.ended(prepared.data):
            pass

    def train_two(self, pair: Pair) -> None:
        accelerator = _accelerator(pair.window)
        prepare = accelerator.prepare
        pair.generator, pair.critic = prepare(pair.generator, pair.critic)
        optimizers = prepare(pair.critic_optimizer, pair.generator_optimizer)
        for noise, real in prepare(pair.data):
            with accelerator.accumulate(pair.critic, pair.generator):
                for _, loss in pair.turns(noise, real):
                    accelerator.backward(loss())
                for optimizer in optimizers:
                    optimizer.step()
                    optimizer.zero_grad()

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        accelerator = _accelerator(work.window)
        prepared = _Prepared(accelerator, work)
        prepared.ended(prepared.data, count)
        accelerator.save_state(str(folder / "state"))
        (folder / "batches").write_text(str(count))

    def resume(self, work: Work, folder: Path) -> None:
        accelerator = _accelerator(work.window)
        prepared = _Prepared(accelerator, work)
        accelerator.load_state(str(folder / "state"))
        count = int((folder / "batches").read_text())
        prepared.ended(accelerator.skip_first_batches(prepared.data, count))


class _Prepared:
    def __init__(self, accelerator: Accelerator, work: Work) -> None:
        self.accelerator, self.work = accelerator, work
        self.model, self.optimizer, self.data = accelerator.prepare(
            work.model, work.optimizer, work.data
        )
        self.scheduler = work.scheduler and accelerator.prepare(work.scheduler)

    def ended(self, data: Any, count: int | None = None) -> bool:
        """Whether the pass came to its end, and not to a fault of the data."""
        work = self.work
        try:
            for i, (x, y) in enumerate(data, 1):
                try:
                    with self.accelerator.accumulate(self.model):
                        self.accelerator.backward(work.criterion(self.model(x), y))
                        if self.accelerator.sync_gradients and work.clip is not None:
                            self.accelerator.clip_grad_norm_(self.model.parameters(), work.clip)
                        self.optimizer.step()
                        if self.scheduler is not None:
                            self.scheduler.step()
                        self.optimizer.zero_grad()
                except work.catches:
                    continue
                work.meddle(i, self.optimizer)
                if i == count:
                    break
        except work.catches:
            return False
        return True


class WithAccelerateItems(WithAccelerate):
    """The recipe for samples of variable size."""

    how: ClassVar[dict[str, str]] = {
        "train": "a window's batches drawn first and their items counted, sums of losses times "
        f"N / items, as in {GUIDE}, 'Gradient accumulation on training samples of variable size'",
        "half": "Accelerator(mixed_precision='fp16')",
        "catch": "try around forward and backward; after a fault of the data the pass begins "
        "again, as its iterator has ended",
    }

    def train(self, work: Work) -> None:
        accelerator = _accelerator(work.window, half=work.half)
        prepared = _Prepared(accelerator, work)
        while not self._ended(prepared):
            pass

    def _ended(self, prepared: _Prepared) -> bool:
        work, left = prepared.work, len(prepared.data)
        try:
            batches = iter(prepared.data)
            while left:
                window = [next(batches) for _ in range(min(work.window, left))]
                left -= len(window)
                self._update(prepared, window)
        except work.catches:
            return False
        return True

    def _update(self, prepared: _Prepared, window: list[Batch]) -> None:
        work, accelerator = prepared.work, prepared.accelerator
        count = accelerator.gather(torch.tensor(sum(items(y) for _, y in window))).sum().item()
        for i, (x, y) in enumerate(window, 1):
            try:
                loss = work.criterion(prepared.model(x), y, reduction="sum")
                loss = loss * work.window * accelerator.num_processes / count
                accelerator.backward(loss)
            except work.catches:
                continue
            work.meddle(i, prepared.optimizer)
        if work.clip is not None:
            accelerator.clip_grad_norm_(prepared.model.parameters(), work.clip)
        prepared.optimizer.step()
        if prepared.scheduler is not None:
            prepared.scheduler.step()
        prepared.optimizer.zero_grad()

    def train_two(self, pair: Pair) -> None:
        raise NotOffered("the recipe has one net")

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        raise NotOffered("the recipe saves nothing")


class WithAccelerateStepper:
    """What Accelerate has prepared, in a Stepper."""

    how: ClassVar[dict[str, str]] = WithAccelerate.how | {
        "train": "make_stepper(accelerator, model, optimizer) after prepare, and its loop "
        "(docs/frameworks.md, 'Exact windows')",
        "catch": "try around forward and backward; after a fault of the data stepper.drop() and "
        "the pass begins again, as Accelerate's iterator has ended",
        "save": "save_state and load_state",
        "two": "a Stepper for each net, with one pass around the other's",
    }

    def train(self, work: Work) -> None:
        prepared = _Stepped(_accelerator(work.window, half=work.half), work)
        while not prepared.ended():
            prepared.stepper.drop()

    def train_two(self, pair: Pair) -> None:
        accelerator = _accelerator(pair.window)
        steppers = {
            who: make_stepper(accelerator, net, optimizer)
            for who, net, optimizer in (
                ("generator", *accelerator.prepare(pair.generator, pair.generator_optimizer)),
                ("critic", *accelerator.prepare(pair.critic, pair.critic_optimizer)),
            )
        }
        batches = steppers["critic"].over(accelerator.prepare(pair.data))
        for noise, real in steppers["generator"].over(batches):
            for who, loss in pair.turns(noise, real):
                steppers[who].backward(loss(), items=len(real))

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        prepared = _Stepped(_accelerator(work.window), work)
        prepared.ended(count)
        prepared.accelerator.save_state(str(folder / "state"))

    def resume(self, work: Work, folder: Path) -> None:
        prepared = _Stepped(_accelerator(work.window), work)
        prepared.accelerator.load_state(str(folder / "state"))
        prepared.ended()


class _Stepped:
    def __init__(self, accelerator: Accelerator, work: Work) -> None:
        self.accelerator, self.work = accelerator, work
        self.model, optimizer, self.data = accelerator.prepare(
            work.model, work.optimizer, work.data
        )
        self.stepper = make_stepper(
            accelerator, self.model, optimizer, clip_norm=work.clip, scheduler=work.scheduler
        )

    def ended(self, count: int | None = None) -> bool:
        """Whether the pass came to its end, and not to a fault of the data."""
        work = self.work
        try:
            for i, (x, y) in enumerate(self.stepper.over(self.data), 1):
                try:
                    self.stepper.backward(work.criterion(self.model(x), y), items=items(y))
                except work.catches:
                    continue
                work.meddle(i, work.optimizer)
                if i == count:
                    break
        except work.catches:
            return False
        return True


def _accelerator(window: int, *, half: bool = False) -> Accelerator:
    """One that knows nothing of those before it: they share their state within a process."""
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    precision = "fp16" if half else "no"
    accelerator = Accelerator(
        gradient_accumulation_steps=window,
        mixed_precision=precision,
        dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True),
        cpu=True,
    )
    if half and accelerator.scaler is None:
        raise NotOffered("no GradScaler on a CPU")
    return accelerator


def loop(task: Task, window: int) -> Loop:
    """The finished code of the guide, with batches that need no preparing."""
    model, optimizer = task.make()
    accelerator = Accelerator(gradient_accumulation_steps=window, cpu=True)
    model, optimizer = accelerator.prepare(model, optimizer)

    def run(data: Data) -> None:
        # One number for all in a process: the HF Trainer, whose turn it may have been, has its own.
        others, accelerator.gradient_accumulation_steps = (
            accelerator.gradient_accumulation_steps,
            window,
        )
        for x, y in data:
            with accelerator.accumulate(model):
                accelerator.backward(mse_loss(model(x), y))
                if accelerator.sync_gradients and task.clip is not None:
                    accelerator.clip_grad_norm_(model.parameters(), task.clip)
                optimizer.step()
                optimizer.zero_grad()
        accelerator.gradient_accumulation_steps = others

    return Loop(model, run)
