"""Watches DataLoaders: which batch is at hand, and when the data ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from gradledger.ledger.events import Batch, EpochEnd
from gradledger.runtime.journal import Journal
from gradledger.runtime.patches import Function, Patches, definers
from gradledger.runtime.unfailing import unfailing


class Loaders:
    """Writes a `Batch` before each batch, and an `EpochEnd` after the last."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._fetching = threading.local()

    def watch(self, patches: Patches) -> None:
        """Audit all loaders until the patches are closed."""
        for iterator in definers(_BaseDataLoaderIter, "__next__"):
            patches.around(iterator, "__next__", self._around_next)
        for loader in definers(DataLoader, "__iter__"):
            self.watch_loader(loader, patches)

    def watch_loader(self, loader: type, patches: Patches) -> None:
        """Audit a loader that reads ahead, and hands out what it read later on (Accelerate's)."""
        if loader is not DataLoader:
            patches.around(loader, "__iter__", self._around_iter)

    def _around_next(self, real: Function) -> Function:
        def __next__(iterator: Any) -> Any:  # noqa: N807
            return self._fetch(lambda: real(iterator))

        return __next__

    def _around_iter(self, real: Function) -> Function:
        def iterate(loader: Any) -> Iterator[Any]:
            batches = iter(real(loader))
            if isinstance(batches, _BaseDataLoaderIter):
                return batches
            return self._telling(batches)

        return iterate

    def _telling(self, batches: Iterator[Any]) -> Iterator[Any]:
        while True:
            try:
                batch = self._fetch(lambda: next(batches))
            except StopIteration:
                return
            yield batch

    def _fetch(self, following: Function) -> Any:
        journal, fetching = self.journal, self._fetching
        if journal.asleep:
            return following()
        depth = getattr(fetching, "depth", 0)
        fetching.depth = depth + 1
        try:
            batch = following()
        except StopIteration:
            if not depth:
                self._tell(EpochEnd)
            raise
        finally:
            fetching.depth = depth
        if not depth:
            self._tell(Batch)
        return batch

    @unfailing
    def _tell(self, kind: type[Batch] | type[EpochEnd]) -> None:
        self.journal.post(self.journal.made(kind, self.journal.arrive()))
