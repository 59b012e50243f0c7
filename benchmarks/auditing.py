"""What an audit costs: next to the plain run, over many steps, and next to TrainCheck."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from itertools import count
from pathlib import Path

import torch
from torch import nn
from torch.optim import AdamW
from torch.utils.data import DataLoader, TensorDataset

from benchmarks import traincheck
from benchmarks.measure import rows_of
from benchmarks.peers import TRAINCHECK
from benchmarks.results import Ratios, Row
from benchmarks.tasks import chain, small, transformer
from gradledger import audit

Shape = tuple[int, ...]
Watch = Callable[[], AbstractContextManager[object]]
BATCHES = 8
LATER = 14
"""Epochs, after which an audit has done what it does at first only."""
ANOMALY = "torch.autograd.detect_anomaly()"
PLAIN, NOISE = "plain run", "plain run again (the noise)"
SCRIPT = Path(__file__).with_name("traced_training.py")


class Training:
    """A model that is trained as most scripts do it."""

    def __init__(self, model: Callable[[], nn.Module], x: Shape, y: Shape) -> None:
        torch.manual_seed(0)
        self.model = model()
        self.optimizer = AdamW(self.model.parameters(), lr=1e-3)
        data = TensorDataset(torch.randn(x), torch.randn(y))
        self.loader = DataLoader(data, batch_size=x[0] // BATCHES)
        self.loss_fn = nn.MSELoss()
        self.loss = 0.0

    def epochs(self, count: int) -> None:
        for _ in range(count):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                loss = self.loss_fn(self.model(x), y)
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.loss += loss.item()


class Watched:
    """The same training, each time watched anew: what comes once is not timed."""

    def __init__(self, training: Training, watch: Watch, warm_up: int) -> None:
        self._training = training
        self._watch = watch
        self._warm_up = warm_up

    def seconds(self, epochs: int) -> tuple[float, float]:
        """Of the plain training, just before and just after, and of this."""
        before = self._timed(epochs)
        with ExitStack() as watching:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch's own that it is slow: that is the question
                watching.enter_context(self._watch())
            self._training.epochs(self._warm_up)
            taken = self._timed(epochs)
        return (before + self._timed(epochs)) / 2, taken

    def _timed(self, epochs: int) -> float:
        start = time.process_time()
        self._training.epochs(epochs)
        return time.process_time() - start


def cost(quick: bool) -> dict[str, Ratios]:
    """An audit, a recorded and a sampled one, and torch's own way to look for bad gradients."""
    mlp = Training(small, (256, 10), (256, 1))
    if quick:
        return {"cost.mlp": _cost("MLP 10-32-1", mlp, 6, 7, 1.15)}
    layers = Training(partial(chain, 200), (256, 16), (256, 16))
    attention = Training(transformer, (64, 64, 128), (64, 64, 128))
    return {
        "cost.mlp": _cost("MLP 10-32-1", mlp, 12, 31, 1.15),
        "cost.chain": _cost("200 layers of 16x16", layers, 2, 15, 1.10),
        "cost.transformer": _cost("transformer", attention, 2, 9, 1.05),
    }


def _cost(name: str, training: Training, epochs: int, rounds: int, goal: float) -> Ratios:
    folder = Path(tempfile.mkdtemp())
    watches: dict[str, Watch] = {
        PLAIN: nullcontext,
        NOISE: nullcontext,
        "audit(), its first steps": audit,
        "audit()": audit,
        "audit(record=...), its first steps": partial(audit, record=folder / "first"),
        "audit(record=...), later on": partial(audit, record=folder / "later"),
        "audit(sample=50)": partial(audit, sample=50),
        ANOMALY: partial(torch.autograd.detect_anomaly, check_nan=True),
    }
    # An audit looks most closely at the first 16 passes of a place, a sampled one begins to skip
    # after its first hundred steps, and a recorded one has measured how far every step moves each
    # parameter at 64 of them.
    at_once = ("first steps", PLAIN, ANOMALY)
    ways = {
        way: Watched(training, watch, 1 if any(word in way for word in at_once) else LATER)
        for way, watch in watches.items()
    }
    # Warming up takes long, so that what is timed comes long after the plain run's turn: each way
    # is compared with plain runs of its own.
    pairs: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    try:
        for _ in range(rounds):
            for way, watched in ways.items():
                pairs[way].append(watched.seconds(epochs))
    finally:
        shutil.rmtree(folder)
    rows = []
    for way, taken in pairs.items():
        plain, times = zip(*taken, strict=True)
        goals = {"audit()": goal, "audit(sample=50)": 1.02}
        rows += rows_of({PLAIN: plain, way: times}, per=BATCHES * epochs, goals=goals)[-1:]
    return Ratios(f"{name}, AdamW, clipped, from a DataLoader", rows, peers=[ANOMALY])


def long_run(steps: int) -> Ratios:
    """The time of an audit's later steps, against its first ones."""
    training = Training(small, (256, 10), (256, 1))
    tenth, pieces = steps // 10, 10
    epochs = tenth // pieces // BATCHES
    times: dict[str, list[float]] = {}
    with audit():
        training.epochs(20)
        for number in range(10):
            gc.collect()
            taken = times.setdefault(f"steps {number * tenth:,} to {(number + 1) * tenth:,}", [])
            for _ in range(pieces):
                start = time.process_time()
                training.epochs(epochs)
                taken.append(time.process_time() - start)
    title = f"MLP 10-32-1 over {steps:,} audited steps, a tenth at a time"
    return Ratios(title, rows_of(times, per=epochs * BATCHES))


def traced(quick: bool) -> Ratios:
    """A script as it is, under `gradledger run`, and traced by TrainCheck."""
    title = "A script that trains the MLP, run as a whole"
    full, selective = "TrainCheck, reference trace", "TrainCheck, traced for its invariants"
    ways: dict[str, Callable[[], float]] = {
        PLAIN: partial(_seconds, []),
        NOISE: partial(_seconds, []),
        "gradledger run": partial(_seconds, ["-m", "gradledger", "run", "--quiet"]),
    }
    why = "not measured in a quick run" if quick else TRAINCHECK.why_not()
    with tempfile.TemporaryDirectory() as folder:
        if not why:
            try:
                ways |= _tracings(Path(folder), full, selective)
            except (traincheck.Trouble, subprocess.TimeoutExpired) as trouble:
                why = str(trouble)
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(1 if quick else 3):
            for name, way in ways.items():
                times[name].append(way())
    rows = rows_of(times)
    if why:
        rows += [Row.missing(full, why), Row.missing(selective, why)]
    return Ratios(title, rows, peers=[full, selective])


def _tracings(folder: Path, full: str, selective: str) -> dict[str, Callable[[], float]]:
    source = SCRIPT.read_text(encoding="utf-8")
    number = count()

    def seconds(invariants: Path | None) -> float:
        trace = traincheck.collect(source, folder / str(next(number)), invariants=invariants)
        return _printed((trace / "program_output.txt").read_text(encoding="utf-8"))

    reference = traincheck.collect(source, folder / "reference")
    learned = traincheck.infer(reference, folder / "invariants.json")
    return {full: partial(seconds, None), selective: partial(seconds, learned)}


def _seconds(words: list[str]) -> float:
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, *words, str(SCRIPT)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return _printed(done.stdout)


def _printed(output: str) -> float:
    found = re.search(r"seconds per step: (\S+)", output)
    assert found, output
    return float(found[1])
