"""Who trains as one big batch would: each trainer as its own documentation says."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import torch

from benchmarks import trainers
from benchmarks.cases import Case, faults, misuse, nonfinite, resuming, two_nets, windows
from benchmarks.results import Cell, Results, Verdicts, versions
from benchmarks.trainers import NotOffered, Trainer

TITLE = "What is right, next to other trainers"
ABOUT = """\
Each trainer is used as its own documentation says, in small experiments on the CPU; where it \
documents an exact way besides the usual one, that has a column of its own. The reference is the \
exact big batch in float64 (fp32 where fp16 is asked for). A cell "holds" if the parameters end \
where that leads, up to rounding (1e-12 of the way that they went; bit for bit where a run is \
resumed), or says how far off they are, as a part of that way."""

WINDOWS = {**windows.CASES, **faults.CASES, **resuming.CASES, **two_nets.CASES, **nonfinite.CASES}


def results(quick: bool) -> Results:
    """The same, quick or not: there is nothing to repeat."""
    torch.set_num_threads(1)
    tables = {
        "windows": table("One pass over the data, in windows of 4 micro-batches", WINDOWS),
        "misuse": table("Mistakes of the user", misuse.CASES),
    }
    return Results(
        "correctness", TITLE, ABOUT, {**tables}, quick, versions=versions(trainers.PACKAGES)
    )


def table(title: str, cases: Mapping[str, Case]) -> Verdicts:
    names = list(trainers.TRAINERS)
    return Verdicts(
        title,
        names,
        {key: case.meaning for key, case in cases.items()},
        {key: {name: cell(name, case) for name in names} for key, case in cases.items()},
    )


def cell(name: str, case: Case) -> Cell:
    """What this trainer makes of this case. Whatever it raises is what it makes of it."""
    try:
        trainer = trainers.trainer(name)
    except ImportError as error:
        return Cell("not installed", None, how=str(error))
    try:
        with quiet():
            measured = case.measure(trainer)
    except NotOffered as reason:
        return Cell(str(reason), None, how=told(trainer, case))
    except Exception as error:
        measured = Cell(f"raises {type(error).__name__}", False, how=str(error))
    return replace(measured, how=". ".join(filter(None, (told(trainer, case), measured.how))))


@contextmanager
def quiet() -> Iterator[None]:
    """What trainers say of these experiments is no concern of whoever runs the benchmarks."""
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def told(trainer: Trainer, case: Case) -> str:
    return trainer.how.get(case.topic, trainer.how["train"])
