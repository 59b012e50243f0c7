"""PyTorch-Ignite."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import torch
from ignite.engine import Engine, Events, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, TerminateOnNan
from torch.nn.functional import mse_loss
from torch.nn.utils import clip_grad_norm_

from benchmarks.tasks import Data, Loop, Task
from benchmarks.trainers import Batch, Pair, Work


class Terminated(Exception):
    """The run has ended before its end, and said so in its log alone."""


class WithIgnite:
    """Its ready-made trainer where that does, a process function of one's own otherwise."""

    how: ClassVar[dict[str, str]] = {
        "train": "create_supervised_trainer(gradient_accumulation_steps=N), or with clipping an "
        "Engine with a process function that accumulates as its supervised_training_step does; and "
        "the handler TerminateOnNan",
        "half": "an Engine with a process function that accumulates and scales as its "
        "supervised_training_step_amp does, for the CPU",
        "catch": "a process function with a try around forward and backward; a new run after a "
        "fault of the data",
        "save": "Checkpoint of engine, model and optimizer, with deterministic=True, as in "
        "'Resuming the training' and 'Deterministic training'",
        "two": "a process function with both losses / N",
    }

    def train(self, work: Work) -> None:
        own = work.clip is not None or work.half or work.catches
        while True:
            engine = Engine(_process(work)) if own else _supervised(work)
            _attach(engine, work)
            try:
                engine.run(work.data, max_epochs=1)
            except work.catches:
                continue
            if engine.should_terminate:
                raise Terminated("TerminateOnNan has ended the run")
            return

    def train_two(self, pair: Pair) -> None:
        optimizers = pair.optimizers().values()

        def process(engine: Engine, batch: Batch) -> None:
            noise, real = batch
            if (engine.state.iteration - 1) % pair.window == 0:
                for optimizer in optimizers:
                    optimizer.zero_grad()
            for _, loss in pair.turns(noise, real):
                (loss() / pair.window).backward()
            if engine.state.iteration % pair.window == 0:
                for optimizer in optimizers:
                    optimizer.step()

        Engine(process).run(pair.data, max_epochs=1)

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        engine = _supervised(work)
        _attach(engine, work)
        saving = Checkpoint(_state(engine, work), DiskSaver(folder, require_empty=False))
        once = Events.ITERATION_COMPLETED(once=count)
        engine.add_event_handler(once, saving)
        engine.add_event_handler(once, engine.terminate)
        engine.run(work.data, max_epochs=1)

    def resume(self, work: Work, folder: Path) -> None:
        engine = _supervised(work)
        _attach(engine, work)
        (path,) = folder.glob("*.pt")
        # its random numbers are NumPy arrays
        saved = torch.load(path, weights_only=False)
        Checkpoint.load_objects(_state(engine, work), saved)
        engine.run(work.data, max_epochs=1)


def _supervised(work: Work) -> Engine:
    return create_supervised_trainer(
        work.model,
        work.optimizer,
        work.criterion,
        gradient_accumulation_steps=work.window,
        deterministic=True,
    )


def _process(work: Work) -> Any:
    scaler = work.scaler()

    def process(engine: Engine, batch: Batch) -> float:
        x, y = batch
        if (engine.state.iteration - 1) % work.window == 0:
            work.optimizer.zero_grad()
        try:
            with work.autocast():
                loss = work.criterion(work.model(x), y) / work.window
            scaler.scale(loss).backward()
        except work.catches:
            return 0.0
        if engine.state.iteration % work.window == 0:
            if work.clip is not None:
                scaler.unscale_(work.optimizer)
                clip_grad_norm_(work.model.parameters(), work.clip)
            scaler.step(work.optimizer)
            scaler.update()
        return loss.item()

    return process


def _attach(engine: Engine, work: Work) -> None:
    """The scheduler after each update, and an end to a run whose loss is NaN or infinite."""
    scheduler = work.scheduler
    if scheduler is not None:
        each = Events.ITERATION_COMPLETED(every=work.window)
        engine.add_event_handler(each, lambda: scheduler.step())
    if not work.half:  # a scaler skips the step, and the run goes on
        engine.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())

    @engine.on(Events.ITERATION_COMPLETED)
    def meddle() -> None:
        work.meddle(engine.state.iteration, work.optimizer)


def _state(engine: Engine, work: Work) -> dict[str, Any]:
    return {"engine": engine, "model": work.model, "optimizer": work.optimizer}


def loop(task: Task, window: int) -> Loop:
    """One run of the engine for each pass over the data."""
    model, optimizer = task.make()

    def process(engine: Engine, batch: Batch) -> None:
        x, y = batch
        if (engine.state.iteration - 1) % window == 0:
            optimizer.zero_grad()
        (mse_loss(model(x), y) / window).backward()
        if engine.state.iteration % window == 0:
            if task.clip is not None:
                clip_grad_norm_(model.parameters(), task.clip)
            optimizer.step()

    engine = Engine(process)

    def run(data: Data) -> None:
        engine.run(data, max_epochs=1)

    return Loop(model, run)
