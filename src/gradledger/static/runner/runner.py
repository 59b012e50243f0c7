"""Checks many files: each by itself, several at a time, and none twice."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from gradledger.static import budget
from gradledger.static.result import IRRELEVANT, Result
from gradledger.static.runner.file_work import Done, FileWork

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.runner.cache import Cache
    from gradledger.static.runner.cache_content import Stamp

__all__ = ["Result", "check_bytes", "check_paths"]

Progress = Callable[[int, int], None]


def check_paths(
    files: Sequence[str],
    *,
    roots: tuple[str, ...] = (),
    jobs: int | None = None,
    cache: Cache | None = None,
    named: Collection[str] = (),
    progress: Progress | None = None,
) -> Iterator[tuple[str, Result]]:
    """Checks the files, and gives each with its result, in the order in which they were given.

    `roots` are the folders from which the project's imports start. `jobs` processes at most, by
    default one for each processor that we may use. `named`: files that a person named one by one;
    where they are few, they are parsed even where nothing of gradients is in them, so that he hears
    when one of them is broken. `progress` is called with (files done, of how many) now and then,
    always in this process. Ending the iterator early, or Ctrl-C, ends all processes.
    """
    with _no_collection():
        yield from _check(files, roots, jobs, cache, named, progress)


def _check(
    files: Sequence[str],
    roots: tuple[str, ...],
    jobs: int | None,
    cache: Cache | None,
    named: Collection[str],
    progress: Progress | None,
) -> Iterator[tuple[str, Result]]:
    if len(files) < budget.FILES_WORTH_A_CACHE:
        cache = None
    few = frozenset(named if len(named) <= budget.MOST_NAMED else ())
    work = FileWork(files, roots=roots, named=few, hashes=cache is not None)
    results = _results(work, cache, _processes(jobs) if len(files) > 1 else 1)
    ready: dict[int, Result] = {}
    told = 0
    for done, (index, result) in enumerate(results, 1):
        ready[index] = result
        if progress is not None:
            progress(done, len(files))
        while told in ready:
            yield files[told], ready.pop(told)
            told += 1


def check_bytes(path: str, data: bytes, *, roots: tuple[str, ...] = ()) -> Result:
    """The same for one file whose bytes are at hand, as from standard input. Parsed always."""
    from gradledger.static.project.project import Project
    from gradledger.static.runner.one_file import check_data

    return check_data(path, data, Project(roots), calls=True)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Trees are large and hold no cycles: to look for garbage in them takes long, and finds none.

    Until all of them are gone: the first look afterwards would still go through what is left.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _processes(jobs: int | None) -> int:
    from gradledger.static.runner.processes import available

    return available(jobs)


def _results(work: FileWork, cache: Cache | None, jobs: int) -> Iterator[tuple[int, Result]]:
    """The number of each file with its result, as they get ready."""
    memory = _Memory(work, cache)
    training: dict[str, tuple[str, ...]] = {}
    waiting: dict[int, Result] = {}
    """What depends on which names train in other files."""
    for index, result in memory.found.items():
        if result.calls or result is IRRELEVANT:
            waiting[index] = result
        else:
            training[work.files[index]] = result.checked.training
            yield index, result
    for index, done in work.done(memory.left, jobs=jobs):
        if done.result is IRRELEVANT:
            waiting[index] = done.result
            continue
        training[work.files[index]] = done.result.checked.training
        memory.keep(index, done)
        yield index, done.result
    again: list[int] = []
    if memory.left and waiting:
        training = {path: names for path, names in training.items() if names}
        callers = work.callers(training, jobs=jobs)
        again = [i for i in waiting if i in callers and not memory.still_holds(waiting[i])]
        waiting |= {i: IRRELEVANT for i in waiting if i not in callers}
    for index in waiting.keys() - set(again):
        memory.keep(index, Done(waiting[index]))
        yield index, waiting[index]
    for index, done in work.followed(again, jobs=jobs):
        memory.keep(index, done)
        yield index, done.result
    memory.save()


class _Memory:
    """What is known from earlier runs, if anything is kept at all."""

    def __init__(self, work: FileWork, cache: Cache | None) -> None:
        self._work = work
        self._cache = cache
        self._stamps: dict[int, Stamp | None] = {}
        self.found: dict[int, Result] = {}
        """By their numbers, what came of files that have not changed since."""
        if cache is not None:
            cache.open(roots=work.roots)
            self._find(cache)
        self.left = [index for index in range(len(work.files)) if index not in self.found]

    def _find(self, cache: Cache) -> None:
        from gradledger.static.runner.cache import stamp_of

        for index, path in enumerate(self._work.files):
            stamp = self._stamps[index] = stamp_of(path)
            known = stamp and path not in self._work.named and cache.find(path, stamp)
            if known:
                self.found[index] = known

    def still_holds(self, result: Result) -> bool:
        """Was it found by the same ways from file to file as there are now?"""
        carrying = self._cache and self._cache.carrying
        return result.calls and carrying == sorted(self._work.carrying)

    def keep(self, index: int, done: Done) -> None:
        """Remembers what came of a file."""
        stamp = self._stamps.get(index)
        if self._cache is None or stamp is None:
            return
        path = self._work.files[index]
        if done.result is not IRRELEVANT:
            if done.hash:
                self._cache.keep(path, stamp, done.hash, done.result, done.others)
        elif self.found.get(index) is not IRRELEVANT:
            self._cache.keep_nothing(path, stamp)

    def save(self) -> None:
        """Writes what is new."""
        if self._cache is None:
            return
        if self.left:
            self._cache.carrying = sorted(self._work.carrying)
        self._cache.save()
