"""The work on many files, by their numbers, so that other processes can do it too."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gradledger.static.processes import Died, spread
from gradledger.static.relevance import relevant
from gradledger.static.results import IRRELEVANT, Result
from gradledger.static.rows import result as result_of
from gradledger.static.rows import row as row_of
from gradledger.static.sources import Trouble, read_bytes

if TYPE_CHECKING:
    from gradledger.static.project import Project

_LOOKS_THAT_PAY = 500
"""Looking at fewer files takes no longer than starting a process."""
_BYTES_THAT_PAY = 50_000
"""Checking less takes no longer than starting a process."""
_MOST_TO_REMEMBER = 8_000_000
"""Bytes of source. Their trees are some thirty times as large."""
_NOTHING_IN_IT = -1


class Done(NamedTuple):
    """A file is done."""

    number: int
    result: Result
    hash: str = ""
    """Of the content that was checked. Empty where the result must not be remembered."""
    others: tuple[str, ...] = ()
    """Files that were read, or looked for, to follow this one."""


class FileWork:
    """The files of a run, and what is done to each of them."""

    def __init__(
        self, files: Sequence[str], *, roots: tuple[str, ...], named: frozenset[str]
    ) -> None:
        self.files = files
        self.roots = roots
        self.named = named
        """These are parsed whatever is in them."""
        self._project: Project | None = None
        self._remembered = 0

    def done(self, items: Sequence[int], *, jobs: int) -> Iterator[Done]:
        """Does these, in up to so many processes: a look at each first, then those that need it."""
        left = []
        size = 0
        looks = _each(items, self._look, jobs=jobs if len(items) >= _LOOKS_THAT_PAY else 1)
        for index, seen in looks:
            if isinstance(seen, int) and seen != _NOTHING_IN_IT:
                left.append(index)
                size += seen
            elif seen == _NOTHING_IN_IT:
                yield Done(index, IRRELEVANT)
            else:
                yield self._told(index, seen)
        if not left:
            return
        import gradledger.static.one_file  # noqa: F401 - before the processes part, once for all

        left.sort()
        pays = size >= _BYTES_THAT_PAY and len(left) > 1
        for index, answer in _each(left, self._check, jobs=jobs if pays else 1):
            yield self._told(index, answer)

    def _look(self, index: int) -> Any:
        """The size of a file that must be checked, or nothing in it, or what is wrong with it."""
        path = self.files[index]
        data = read_bytes(path)
        if isinstance(data, Trouble):
            return ["", row_of(Result(troubles=(data,))), []]
        if relevant(data):
            return len(data)
        if path not in self.named:
            return _NOTHING_IN_IT
        from gradledger.static.one_file import broken

        return ["", row_of(Result(troubles=broken(path, data), relevant=False)), []]

    def _check(self, index: int) -> Any:
        from gradledger.static.cache import hash_of
        from gradledger.static.one_file import check_data

        path = self.files[index]
        data = read_bytes(path)
        if isinstance(data, Trouble):
            return ["", row_of(Result(troubles=(data,))), []]
        project = self._project_for(len(data))
        # Trees are large and hold no cycles: to look through them again and again for garbage
        # would take a third of the time, and find nothing.
        with _no_collection():
            result = check_data(path, data, project)
        return [hash_of(data), row_of(result), list(project.dependencies())]

    def _project_for(self, size: int) -> Project:
        """The project, as it is known from the files before; anew when it has grown too large."""
        self._remembered += size
        if self._project is None or self._remembered > _MOST_TO_REMEMBER:
            from gradledger.static.project import Project

            self._project = Project(self.roots)
            self._remembered = size
        return self._project

    def _told(self, index: int, answer: Any) -> Done:
        if isinstance(answer, Died):
            how = f"by signal {answer.signal}" if answer.signal else "without a word"
            why = f"the process that checked it was ended {how}; is there enough memory?"
            return Done(index, Result(troubles=(Trouble(self.files[index], 0, why),)))
        found, row, others = answer
        return Done(index, result_of(row), found, tuple(others))


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _each(
    items: Sequence[int], work: Callable[[int], Any], *, jobs: int
) -> Iterator[tuple[int, Any]]:
    if jobs == 1:
        return ((item, work(item)) for item in items)
    # Neighbours share what they import. Small enough that nobody waits for the last one for long.
    at_once = max(1, min(64, len(items) // (jobs * 16)))
    return spread(items, work, jobs=jobs, at_once=at_once)
