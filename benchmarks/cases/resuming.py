"""Row g: a run that is cut off, and gone on with in new objects."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.cases import Case, distance, judged, micro_batches, net, work
from benchmarks.results import Cell
from benchmarks.tasks import flat
from benchmarks.trainers import Trainer, Work


def begun() -> Work:
    """Dropout, momentum, shuffled data; and a script seeds itself at its top."""
    job = work(micro_batches(*[4] * 12), model=net(dropout=0.5), momentum=0.9, shuffle=True)
    torch.manual_seed(2)
    return job


def measure(count: int, trainer: Trainer) -> Cell:
    """The distance is that to the same trainer's run that nothing happened to."""
    whole = begun()
    start = flat(whole.model).clone()
    trainer.train(whole)
    with TemporaryDirectory() as folder:
        trainer.train_and_save(begun(), count, Path(folder))
        resumed = begun()
        trainer.resume(resumed, Path(folder))
    end, right = flat(resumed.model), flat(whole.model)
    return judged(distance(end, right, start), 0.0)


CASES = {
    "g1": Case("cut off in the middle of a window and resumed", "save", partial(measure, 6)),
    "g2": Case("cut off between two windows and resumed", "save", partial(measure, 4)),
}
