"""Runs a program under observation: `observe(path)`."""

from __future__ import annotations

import io
import runpy
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # the first optimizer would load it, line by line under observation

from gradledger.ledger.events import Event, Read, RunEnd
from gradledger.ledger.places import Place
from tests.observer.accelerators import Accelerators
from tests.observer.arithmetic import Arithmetic
from tests.observer.backwards import Backwards
from tests.observer.clips import Clips
from tests.observer.data import Loaders
from tests.observer.journal import Journal
from tests.observer.lines import Lines
from tests.observer.modules import Modules
from tests.observer.optimizers import Optimizers
from tests.observer.patches import Patches
from tests.observer.places import Script
from tests.observer.reads import Reads
from tests.observer.scalers import Scalers
from tests.observer.schedulers import Schedulers
from tests.observer.steppers import Steppers


@dataclass(frozen=True)
class Observation:
    """What a program did."""

    events: tuple[Event, ...]
    error: BaseException | None
    output: str
    left: dict[str, Any]
    """What the program's names stood for at its end."""


def observe(path: str | Path) -> Observation:
    """Run a program as `__main__` in this process, and tell what really happened to its gradients.

    Nothing that it was observed with stays behind. An exception that ends it is no error here.
    """
    script = Script(str(path))
    journal = Journal(script)
    output = io.StringIO()
    error: BaseException | None = None
    left: dict[str, Any] = {}
    with (
        torch.random.fork_rng(),
        warnings.catch_warnings(),
        redirect_stdout(output),
        Patches() as patches,
    ):
        warnings.simplefilter("ignore")
        # Threads that wait for each other on a busy machine take most of a tiny program's time.
        patches.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
        _watch_all(journal, patches)
        try:
            left = runpy.run_path(script.path, run_name="__main__")
        except BaseException as raised:
            error = raised
    _close(journal, error)
    return Observation(tuple(journal.events), error, output.getvalue(), left)


def _watch_all(journal: Journal, patches: Patches) -> None:
    backwards, optimizers = Backwards(journal), Optimizers(journal)
    if any("accelerate" in line for line in journal.script.lines):
        # First, so that the loaders it brings along are watched too.
        Accelerators(backwards).watch(patches)
    backwards.watch(patches)
    optimizers.watch(patches)
    Scalers(journal, optimizers).watch(patches)
    Schedulers(journal, optimizers).watch(patches)
    Clips(journal).watch(patches)
    Loaders(journal).watch(patches)
    Modules(journal).watch(patches)
    Arithmetic(journal).watch(patches)
    Reads(journal).watch(patches)
    Steppers(journal).watch(patches)
    Lines(journal).watch(patches)


def _close(journal: Journal, error: BaseException | None) -> None:
    """The end of the run, and before it the reason, if that was a gradient that is not there."""
    at = Place(journal.script.path, max(len(journal.script.lines), 1))
    crashed = error is not None and not (isinstance(error, SystemExit) and not error.code)
    if error is not None and crashed:
        at = journal.script.in_traceback(error.__traceback__) or at
        missing = frozenset(name for name, leaf in journal.cells if leaf.grad is None)
        if _needed_a_gradient(error) and ".grad" in journal.script.text(at) and missing:
            journal.post(Read(at, missing, needed=True))
    journal.post(RunEnd(at, crashed=crashed))


def _needed_a_gradient(error: BaseException) -> bool:
    return isinstance(error, AttributeError | TypeError) and "NoneType" in str(error)
