"""One check: finds the files, checks them, and filters the findings."""

from __future__ import annotations

import os
import sys
import time

from gradledger.cli.settings import Settings
from gradledger.ledger.findings import Finding
from gradledger.ledger.values import Value, replace
from gradledger.policy.roots import roots
from gradledger.report.inspection import Inspection, NotChecked, Unknown
from gradledger.static.runner.runner import Result, check_bytes, check_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradledger.policy.baseline import Entry
    from gradledger.static.runner.cache import Cache
    from gradledger.static.source.files import Trouble


class Outcome(Value):
    """The result of a check."""

    inspection: Inspection
    remarks: tuple[str, ...]
    """Notes for the user, one line each."""
    incomplete: bool
    """True if a file that was named could not be checked."""
    entries: tuple[Entry, ...] = ()
    """The fingerprints of the findings, if a baseline is to be written."""
    files: tuple[str, ...] = ()
    """The files that were checked."""
    stdin: bytes | None = None
    """The text from standard input, if that was checked."""


class Gathered:
    """The results of all files."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.findings: list[Finding] = []
        self.unknown: dict[Unknown, None] = {}
        self.troubles: list[Trouble] = []
        self.followed = 0
        self.remarks: list[str] = []
        """Notes about the check itself, one line each."""

    def take(self, path: str, result: Result) -> None:
        """Adds the result of a file."""
        self.files.append(path)
        if not result.relevant and not result.troubles:  # nearly all files have none
            return
        self.findings += result.checked.findings
        self.unknown.update((Unknown(*one), None) for one in result.checked.unknown)
        self.troubles += result.troubles
        self.followed += result.checked.followed


def check(settings: Settings, *, stdin: bytes | None = None) -> Outcome:
    """Checks what the settings say. Raises GradledgerError if that is impossible.

    `stdin`: the content of standard input, if it has already been read.
    """
    begun = time.perf_counter()
    gathered = Gathered()
    if settings.stdin is not None:
        if stdin is None:
            stdin = sys.stdin.buffer.read() if sys.stdin is not None else b""
        result = check_bytes(settings.stdin, stdin, roots=roots([settings.stdin]))
        gathered.take(settings.stdin, result)
        named = {settings.stdin}
    else:
        named = {path for path in settings.paths if not os.path.isdir(path)}
        for path, result in _results(settings, named, gathered):
            gathered.take(path, result)
    outcome = Outcome(
        Inspection(
            subject=settings.stdin or " ".join(settings.paths),
            unknown=tuple(sorted(gathered.unknown, key=_reading_order)),
            not_checked=tuple(NotChecked(*trouble) for trouble in gathered.troubles),
            files=len(gathered.files),
            followed=gathered.followed,
        ),
        remarks=(*gathered.remarks, *_troubles(gathered)),
        incomplete=bool(gathered.troubles) and _are_among(named, gathered.troubles),
        files=tuple(gathered.files),
        stdin=stdin,
    )
    if gathered.findings or settings.baseline or settings.report_unused:
        from gradledger.cli.judging import judged

        outcome = judged(outcome, gathered, settings, stdin)
    seconds = round(time.perf_counter() - begun, 3)
    return replace(outcome, inspection=replace(outcome.inspection, seconds=seconds))


def _results(
    settings: Settings, named: set[str], gathered: Gathered
) -> Iterator[tuple[str, Result]]:
    from gradledger.cli.progress import Progress
    from gradledger.static.source.discovery import find

    configured = settings.configured
    files = find(settings.paths, exclude=configured.exclude, base=configured.folder)
    cache = _cache(settings, len(files))
    with Progress("Checking") as progress:
        yield from check_paths(
            files,
            roots=roots(settings.paths),
            jobs=settings.jobs,
            cache=cache,
            named=named,
            progress=progress,
        )
    if cache is not None and cache.remark:
        gathered.remarks.append(cache.remark)


def _cache(settings: Settings, files: int) -> Cache | None:
    # Checking one file is faster than reading the cache.
    if not settings.cache or files < 2:
        return None
    from gradledger.static.runner.cache import Cache
    from gradledger.static.runner.cache_folder import project_of

    return Cache(project_of(settings.paths[0]))


def _reading_order(unknown: Unknown) -> tuple[str, int, str]:
    return unknown.path, unknown.line, unknown.what


def _are_among(named: set[str], troubles: list[Trouble]) -> bool:
    """True if one of the named files couldn't be checked."""
    from gradledger.report.paths import cell_of

    return any(cell_of(trouble.path)[0] in named for trouble in troubles)


def _troubles(gathered: Gathered) -> Iterator[str]:
    if not gathered.troubles:
        return
    from gradledger.report.paths import shown

    for path, line, message in gathered.troubles:
        place = f"{shown(path)}:{line}" if line else shown(path)
        yield f"{place}: not checked: {message}"
