"""Checks many files: each by itself, several at a time, and none twice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from gradledger.static.running.file_work import FileWork
from gradledger.static.running.results import IRRELEVANT, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.running.cache import Cache, Stamp

__all__ = ["Result", "check_bytes", "check_paths"]

Progress = Callable[[int, int], None]

_FEW = 16
"""As many files a person names one by one; more come from a tool, which wants speed."""
_WORTH_REMEMBERING = 16
"""Fewer files are checked before a large cache is read."""


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
    if len(files) < _WORTH_REMEMBERING:
        cache = None
    few = frozenset(named if len(named) <= _FEW else ())
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
    from gradledger.static.project import Project
    from gradledger.static.running.one_file import check_data

    return check_data(path, data, Project(roots))


def _processes(jobs: int | None) -> int:
    from gradledger.static.running.processes import available

    return available(jobs)


def _results(work: FileWork, cache: Cache | None, jobs: int) -> Iterator[tuple[int, Result]]:
    """The number of each file with its result, as they get ready."""
    if cache is None:
        for index, done in work.done(range(len(work.files)), jobs=jobs):
            yield index, done.result
        return
    from gradledger.static.running.cache import stamp_of

    cache.open(roots=work.roots)
    left = []
    stamps: dict[int, Stamp | None] = {}
    for index, path in enumerate(work.files):
        stamp = stamps[index] = stamp_of(path)
        known = stamp and path not in work.named and cache.find(path, stamp)
        if known:
            yield index, known
        else:
            left.append(index)
    for index, done in work.done(left, jobs=jobs):
        yield index, done.result
        stamp = stamps[index]
        if stamp is None:
            continue
        if done.result is IRRELEVANT:
            cache.keep_nothing(work.files[index], stamp)
        elif done.hash:
            cache.keep(work.files[index], stamp, done.hash, done.result, done.others)
    cache.save()
