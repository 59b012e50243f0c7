"""Watches DataLoaders: which batch is current, and when the data ends."""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import torch
from torch.utils.data import DataLoader, Sampler, dataloader

from gradledger.ledger.events import NO_CELLS, Batch, Clear, EpochEnd, Event
from gradledger.ledger.places import Place
from gradledger.runtime.backward.backwards import Backwards
from gradledger.runtime.batches.drawn_batches import Draw
from gradledger.runtime.journal.crash_guard import survive, unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches, definers
from gradledger.runtime.tensors.torch_names import private


def _base_of_an_iterator() -> type[Iterator[Any]]:
    data: Any = [0]
    generator = torch.Generator()  # not the program's random numbers
    return type(iter(DataLoader(data, generator=generator))).__mro__[-2]


_ITERATOR: type[Iterator[Any]] = (
    private(dataloader, "_BaseDataLoaderIter", None) or _base_of_an_iterator()
)
"""What all iterators of DataLoaders are."""


class Loaders:
    """Writes a `Batch` before each batch, and an `EpochEnd` after the last."""

    def __init__(self, journal: Journal, backwards: Backwards) -> None:
        self.journal = journal
        self._backwards = backwards
        self._going: dict[int, ActiveIterator] = {}
        self._latest: tuple[CodeType, int, Batch] | None = None
        """The latest batch that an instruction of the user's own drew, and which. One value, for
        threads draw at the same time."""
        self._ending: tuple[ActiveIterator, Place] | None = None
        """Its data has ended, and passes of its last batches may still come."""

    def watch(self, patches: Patches) -> None:
        """Audit all loaders until the patches are closed."""
        for iterator in definers(_ITERATOR, "__next__"):
            patches.around(iterator, "__next__", self._around_next)
        for loader in definers(DataLoader, "__iter__"):
            self.watch_loader(loader, patches)
        self.journal.call_before((Clear,), self._foresee)

    def watch_loader(self, loader: type, patches: Patches) -> None:
        """Audit a loader that reads ahead, and hands out what it read later on (Accelerate's)."""
        if loader is not DataLoader:
            patches.around(loader, "__iter__", self._around_iter)

    def _around_next(self, real: Function) -> Function:
        journal, thread = self.journal, self.journal.thread

        def __next__(batches: Any) -> Any:  # noqa: N807
            if journal.asleep:
                return real(batches)
            work = thread.work
            depth = work.fetching
            work.fetching = depth + 1
            try:
                batch = real(batches)
            except StopIteration:
                if not depth:
                    self._ended(batches)
                raise
            finally:
                work.fetching = depth
            if not depth:
                try:
                    with journal.entering:  # whose batch it is, a pass elsewhere may change
                        self._drawn(batches, sys._getframe(1), batch)
                except Exception as error:
                    survive(journal, error)
            return batch

        return __next__

    def _around_iter(self, real: Function) -> Function:
        def iterate(loader: Any) -> Iterator[Any]:
            batches = iter(real(loader))
            if isinstance(batches, _ITERATOR):
                return batches
            return self._telling(batches)

        return iterate

    def _telling(self, batches: Iterator[Any]) -> Iterator[Any]:
        following = self._around_next(next)
        while True:
            try:
                batch = following(batches)
            except StopIteration:
                return
            yield batch

    def _drawn(self, batches: Iterator[Any], frame: FrameType, batch: object) -> None:
        self._backwards.kept.batches.mark()
        self._end_late()
        going = self._going.get(id(batches))
        if going is not None and going.ref() is batches:
            going.drawn += 1
        else:
            going = self._begun(batches)
        if going.round and going.drawn % going.round == 0:
            self._ending = going, self.journal.arrive(frame)
        self._backwards.batches.drawn.add(batch, Draw(going.serial, going.drawn))
        # The same instruction as last time is quicker to know again than to look up.
        walks, latest = self._backwards.walks, self._latest
        if (
            latest is None
            or frame.f_code is not latest[0]
            or frame.f_lasti != latest[1]
            or walks.shared
            or (walks.threads and threading.get_ident() not in walks.threads)
        ):
            event = self._new_event(frame)
        else:
            event = latest[2]
        if event.cells is NO_CELLS:
            self._backwards.batches.drawn.ahead = True
        else:
            self._backwards.batches.drawn.told += 1
        self.journal.post(event)

    def _new_event(self, frame: FrameType) -> Batch:
        journal = self.journal
        _, cells = self._backwards.training
        event = journal.made(Batch, journal.arrive(frame), cells)
        if cells is None and journal.places.is_users(frame.f_code):
            self._latest = frame.f_code, frame.f_lasti, event
        return event

    def _begun(self, batches: Iterator[Any]) -> ActiveIterator:
        """The first batch of an iterator: another that had no more to give has ended by now."""
        thread = threading.get_ident()
        for other, going in list(self._going.items()):
            if going.thread == thread and going.drawn >= going.length:
                self._end(self._going.pop(other))
        if len(self._going) > 100:
            self._going = {n: g for n, g in self._going.items() if g.ref() is not None}
        going = self._going[id(batches)] = ActiveIterator(
            batches, thread, self._backwards.training[0]
        )
        self._backwards.told_of_data, self._backwards.without_data = True, False
        return going

    @unfailing
    def _ended(self, batches: Iterator[Any]) -> None:
        going = self._going.pop(id(batches), None)
        if going is not None and going.ref() is batches:
            with self.journal.entering:
                if self._backwards.batches.drawn.since_pass:
                    self._end_late()
                    self._ending = going, self.journal.arrive()
                else:
                    self._end(going)
                # Whoever goes on has kept batches (`itertools.cycle`), and tells of none.
                trained = self._backwards.training[0] != going.passes
                others = any(other.ref() is not None for other in self._going.values())
                self._backwards.without_data = trained and not others

    def _end(self, going: ActiveIterator, at: Place | None = None) -> None:
        # Who only evaluates on the data, perhaps in the middle of a window, ends no epoch.
        passes, cells = self._backwards.training
        if passes != going.passes:
            at = at or self.journal.arrive()
            self.journal.post(self.journal.made(EpochEnd, at, None, cells))

    def _end_late(self) -> None:
        """Other data comes, or a clear: the passes of the data before it are over."""
        if self._ending is not None:
            (going, at), self._ending = self._ending, None
            self._end(going, at)

    def _foresee(self, event: Event) -> None:
        if self._ending is None or type(event) is not Clear:
            return
        # A clear in front of the next pass, or one behind a step, says nothing of the data's end.
        page, drawn = self.journal.book.page, self._backwards.batches.drawn
        if not drawn.since_pass and any(cell.fresh for _, cell in page.among(event.cells)):
            self._end_late()


class ActiveIterator:
    """An iterator over data that has not ended yet."""

    def __init__(self, batches: Iterator[Any], thread: int, passes: int) -> None:
        self.ref = weakref.ref(batches)
        self.serial = next(_serials)
        self.thread = thread
        self.drawn = 1
        self.passes = passes
        """Backward passes before its first batch."""
        try:
            self.length: float = len(batches)  # type: ignore[arg-type]
        except (TypeError, NotImplementedError):
            self.length = float("inf")
        self.round = _round(batches) if self.length == float("inf") else 0
        """Batches that an iterator without an end gives out until it begins again."""


def _round(batches: Any) -> int:
    """Of a sampler that repeats another one for ever (yolov5's, timm's): that one's length."""
    try:
        repeated = vars(getattr(batches, "_index_sampler", None)).get("sampler")
        return len(repeated) if isinstance(repeated, Sampler) else 0  # type: ignore[arg-type]
    except (TypeError, NotImplementedError):
        return 0


_serials = itertools.count()
