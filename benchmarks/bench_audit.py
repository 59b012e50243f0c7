"""What an audit costs: next to the plain run, over many steps, and with `sample`."""

from __future__ import annotations

import gc
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path

import torch
from torch import nn
from torch.optim import AdamW
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.bench_stepper import chain, small, transformer
from benchmarks.measure import compare
from gradledger import audit

Shape = tuple[int, ...]
Watch = Callable[[], AbstractContextManager[object]]


class Training:
    """A model that is trained as most scripts do it."""

    def __init__(self, model: Callable[[], nn.Module], x: Shape, y: Shape) -> None:
        torch.manual_seed(0)
        self.model = model()
        self.optimizer = AdamW(self.model.parameters(), lr=1e-3)
        self.loader = DataLoader(
            TensorDataset(torch.randn(x), torch.randn(y)), batch_size=x[0] // 8
        )
        self.loss_fn = nn.MSELoss()
        self.loss = 0.0

    def epochs(self, count: int) -> None:
        """Eight batches each."""
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

    running = ExitStack()
    """Of who was timed last, until the next one begins."""

    def __init__(self, training: Training, watch: Watch, warm_up: int) -> None:
        self._training = training
        self._watch = watch
        self._warm_up = warm_up

    def begin(self) -> None:
        self.running.close()
        self.running.enter_context(self._watch())
        self._training.epochs(self._warm_up)

    def run(self, epochs: int) -> None:
        self._training.epochs(epochs)


def bench_cost() -> None:
    """An audit, a recorded and a sampled one, and torch's own way to look for bad gradients."""
    folder = Path(tempfile.mkdtemp())
    trainings = {
        "MLP 10-32-1": (Training(small, (256, 10), (256, 1)), 6, 25, 1.15),
        "200 layers of 16x16": (Training(partial(chain, 200), (256, 16), (256, 16)), 2, 7, 1.10),
        "transformer": (Training(transformer, (64, 64, 128), (64, 64, 128)), 1, 5, 1.05),
    }
    watches: dict[str, Watch] = {
        "plain run": nullcontext,
        "plain run again (the noise)": nullcontext,
        "audit()": audit,
        "audit(record=...), its first steps": partial(audit, record=folder / "first"),
        "audit(record=...), later on": partial(audit, record=folder / "later"),
        "audit(sample=50)": partial(audit, sample=50),
        "torch.autograd.detect_anomaly()": partial(torch.autograd.detect_anomaly, check_nan=True),
    }
    for name, (training, epochs, rounds, goal) in trainings.items():
        # A sampled audit begins to skip after its first hundred steps, and a recorded one has
        # measured how far every step moves each parameter at 64 of them.
        later = ("sample", "later")
        ways = {
            way: Watched(training, watch, 33 if any(word in way for word in later) else 1)
            for way, watch in watches.items()
        }
        compare(
            f"{name}, AdamW, clipped, from a DataLoader, per step",
            {way: partial(watched.run, epochs) for way, watched in ways.items()},
            before={way: watched.begin for way, watched in ways.items()},
            per=8 * epochs,
            rounds=rounds,
            goals={"audit()": goal, "audit(sample=50)": 1.02},
        )
        Watched.running.close()
    shutil.rmtree(folder)


def bench_long_run(steps: int = 20_000) -> None:
    """Time and memory of an audit's last steps, against its first."""
    training = Training(small, (256, 10), (256, 1))
    tenth = steps // 10 // 8
    print(f"\nMLP 10-32-1 over {steps:,} audited steps, a tenth at a time")
    with audit():
        training.epochs(20)
        for number in range(10):
            gc.collect()
            start = time.process_time()
            training.epochs(tenth)
            taken = (time.process_time() - start) / tenth / 8
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"  {number + 1:>2}: {taken * 1e6:7.0f} us a step, at most {peak:,.0f} MB so far")


def main() -> None:
    """Everything about the auditor, on one thread."""
    torch.set_num_threads(1)
    bench_cost()
    bench_long_run()


if __name__ == "__main__":
    sys.exit(main())
