"""Watches DataLoaders: which batch is at hand, and when the data ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader

from gradledger.ledger.events import Batch, EpochEnd
from tests.observer.journal import Journal
from tests.observer.patches import Function, Patches, definers


class Batches:
    """An iterator over a loader that tells what it hands out."""

    def __init__(self, real: Iterator[Any], loaders: Loaders) -> None:
        self._real = real
        self._loaders = loaders

    def __iter__(self) -> Batches:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __next__(self) -> Any:
        journal = self._loaders.journal
        self._loaders.fetching += 1
        try:
            batch = next(self._real)
        except StopIteration:
            if self._loaders.fetching == 1:
                journal.post(EpochEnd(journal.here()))
            raise
        finally:
            self._loaders.fetching -= 1
        if not self._loaders.fetching:
            journal.post(Batch(journal.here()))
        return batch


class Loaders:
    """Writes a `Batch` before each batch, and an `EpochEnd` after the last."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.fetching = 0
        """How many loaders are at it; a loader in a loader (Accelerate's) reads ahead."""

    def watch(self, patches: Patches) -> None:
        """Observe all loaders until the patches are closed."""
        for loader in definers(DataLoader, "__iter__"):
            patches.around(loader, "__iter__", self._around_iter)

    def _around_iter(self, real: Function) -> Function:
        def iterate(loader: Any) -> Iterator[Any]:
            return Batches(iter(real(loader)), self)

        return iterate
