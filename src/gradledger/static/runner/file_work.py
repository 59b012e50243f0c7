"""The work on many files, by their numbers, so that other processes can do it too."""

from __future__ import annotations

from gradledger.ledger.values import Value
from gradledger.static import budget
from gradledger.static.result import IRRELEVANT, Checked, Result
from gradledger.static.source.files import Trouble, read_bytes
from gradledger.static.source.imports import import_lines
from gradledger.static.source.relevance import effort, relevant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from gradledger.static.project.project import Project
    from gradledger.static.runner.callers import Training

_CALLING = 20_000
"""About how much work a file is that calls what trains in another, in bytes."""


class Done(Value):
    """A file is done."""

    result: Result
    hash: str = ""
    """Of the content that was checked. Empty where the result must not be remembered."""
    others: tuple[str, ...] = ()
    """Files that were read, or looked for, to follow this one."""


class FileWork:
    """The files of a run, and what is done to each of them."""

    def __init__(
        self,
        files: Sequence[str],
        *,
        roots: tuple[str, ...],
        named: frozenset[str],
        hashes: bool,
    ) -> None:
        self.files = files
        self.roots = roots
        self.named = named
        """These are parsed whatever is in them."""
        self._hashes = hashes
        """Whether to say what the content was: for those who remember."""
        self.carrying: frozenset[str] = frozenset()
        """By their full paths, files through which others come to what trains."""
        self._imports: dict[int, str] = {}
        """The lines that import something, by file, of those that were looked at for them."""
        self._project: Project | None = None
        self._remembered = 0

    def done(self, items: Sequence[int], *, jobs: int) -> Iterator[tuple[int, Done]]:
        """Does these, in up to so many processes: a look at each first, then those that need it.

        Those in which there is nothing may still call what trains in others: see `callers`.
        """
        left: dict[int, int] = {}
        """The work that each is."""
        pays = len(items) >= budget.FILES_WORTH_A_PROCESS
        for index, seen in self._each(items, self._look, jobs=jobs if pays else 1):
            if isinstance(seen, Done):
                yield index, seen
            elif isinstance(seen, str):
                self._imports[index] = seen
                yield index, Done(IRRELEVANT)
            else:
                if not left:
                    _load_the_checker()  # while other processes still look
                left[index] = seen
        yield from self._checked(left, self._check, jobs=jobs)

    def callers(self, training: Training, *, jobs: int) -> set[int]:
        """The files that call what trains in others, if these are the names that do."""
        if not training:
            return set()
        from gradledger.static.runner.callers import Callers, Steps, folder_of

        left = [index for index in range(len(self.files)) if index not in self._imports]
        pays = len(left) >= budget.FILES_WORTH_A_PROCESS
        for index, lines in self._each(left, self._import_lines, jobs=jobs if pays else 1):
            self._imports[index] = lines if isinstance(lines, str) else ""

        together: dict[str, list[int]] = {}
        for index, lines in self._imports.items():
            if lines:
                together.setdefault(folder_of(self.files[index]), []).append(index)

        def importing(steps: Steps) -> Iterator[tuple[str, list[str]]]:
            for folder, indices in together.items():
                for index in steps.may_be_named_by(folder, indices, self._imports):
                    found = steps.named_by(folder, self._imports[index])
                    if found:
                        yield self.files[index], found

        callers = Callers(training, self.roots, importing)
        self.carrying = frozenset(callers.carrying)
        self._project = None
        return {index for index, path in enumerate(self.files) if path in callers.paths}

    def _import_lines(self, index: int) -> str:
        data = read_bytes(self.files[index], most=budget.IMPORT_BYTES)
        return "" if isinstance(data, Trouble) else import_lines(data)

    def followed(self, items: Sequence[int], *, jobs: int) -> Iterator[tuple[int, Done]]:
        """Follows these for what they call, whatever they say themselves."""
        yield from self._checked(dict.fromkeys(items, _CALLING), self._follow, jobs=jobs)

    def _checked(
        self, left: dict[int, int], check: Callable[[int], Done], *, jobs: int
    ) -> Iterator[tuple[int, Done]]:
        if not left:
            return
        _load_the_checker()  # before the processes part, once for all
        pays = sum(left.values()) >= budget.WORK_WORTH_A_PROCESS
        checks = self._each(sorted(left), check, jobs=jobs if pays else 1, weigh=left.__getitem__)
        for index, done in checks:
            assert isinstance(done, Done)
            yield index, done

    def _look(self, index: int) -> int | str | Done:
        """The work that a file is, or what is wrong with it.

        Where nothing is in it, what it imports: by that it may still come to what trains.
        """
        path = self.files[index]
        data = read_bytes(path)
        if isinstance(data, Trouble):
            return Done(Result(troubles=(data,)))
        if relevant(data):
            return effort(data)
        if path not in self.named:
            return import_lines(data)
        done = self._follow(index)
        if done.result.checked == Checked():
            return Done(Result(troubles=done.result.troubles, relevant=False))
        return done

    def _follow(self, index: int) -> Done:
        return self._check(index, calls=True)

    def _check(self, index: int, *, calls: bool = False) -> Done:
        from gradledger.static.runner.one_file import check_data

        path = self.files[index]
        data = read_bytes(path)
        if isinstance(data, Trouble):
            return Done(Result(troubles=(data,)))
        project = self._project_for(len(data))
        result = check_data(path, data, project, always=path in self.named, calls=calls)
        if not self._hashes:
            return Done(result)
        from gradledger.static.runner.hashing import hash_of

        return Done(result, hash_of(data), project.dependencies())

    def _project_for(self, size: int) -> Project:
        """The project, as it is known from the files before; anew when it has grown too large."""
        self._remembered += size
        if self._project is None or self._remembered > budget.MOST_SOURCE_KEPT:
            from gradledger.static.project.project import Project

            self._project = Project(self.roots, carrying=self.carrying)
            self._remembered = size
        return self._project

    def _each(
        self,
        items: Sequence[int],
        work: Callable[[int], int | str | Done],
        *,
        jobs: int,
        weigh: Callable[[int], int] = lambda item: 1,
    ) -> Iterator[tuple[int, int | str | Done]]:
        if jobs == 1 or len(items) < 2:
            for item in items:
                yield item, work(item)
            return
        from gradledger.static.runner.processes import Died, spread

        # Neighbours share what they import. Few enough that nobody waits long for the last ones.
        at_once = max(1, min(64, len(items) // (jobs * 16)))
        packed = spread(
            items, lambda item: _packed(work(item)), jobs=jobs, at_once=at_once, weigh=weigh
        )
        for item, answer in packed:
            if isinstance(answer, Died):
                yield item, _lost(self.files[item], answer.signal)
            else:
                yield item, _unpacked(answer)


def _load_the_checker() -> None:
    import gradledger.static.runner.one_file  # noqa: F401


def _packed(answer: int | str | Done) -> Any:
    if isinstance(answer, int | str):
        return answer
    from gradledger.static.runner.rows import row

    return [row(answer.result), answer.hash, answer.others]


def _unpacked(answer: Any) -> int | str | Done:
    if isinstance(answer, int | str):
        return answer
    from gradledger.static.runner.rows import result

    found = result(answer[0])
    return Done(IRRELEVANT if found == IRRELEVANT else found, answer[1], answer[2])


def _lost(path: str, signal: int) -> Done:
    how = f"by signal {signal}" if signal else "without a word"
    why = f"the process that checked it was ended {how}; is there enough memory?"
    return Done(Result(troubles=(Trouble(path, 0, why),)))
