"""Fixes files: one edit at a time, each kept only where a new check says that it was right."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gradledger.ledger.findings import Finding
from gradledger.static import budget
from gradledger.static.fix.books import Books, key_of
from gradledger.static.fix.contents import Content
from gradledger.static.fix.cures import CURES
from gradledger.static.fix.edits import edited, moved
from gradledger.static.fix.fault import Fault
from gradledger.static.fix.importers import Importers
from gradledger.static.fix.joined_places import in_text
from gradledger.static.fix.script import Script
from gradledger.static.source.cell_places import file_and_cell
from gradledger.static.source.files import Trouble, read_bytes
from gradledger.static.source.relevance import relevant

Wanted = tuple[tuple[Finding, int], ...]
"""The findings that are to be cured, each with the line of the text that it has come to."""


class Fixed(NamedTuple):
    """A file, before and after, and the findings that it is rid of."""

    path: str
    before: bytes
    after: bytes
    cured: tuple[Finding, ...]


def fixes(
    findings: Iterable[Finding],
    files: Sequence[str],
    *,
    roots: tuple[str, ...] = (),
    at_hand: Mapping[str, bytes] | None = None,
) -> Iterator[Fixed]:
    """The files, of those given, in which findings can be cured. Nothing is written.

    A later file is checked against what has become of the earlier ones. `at_hand` has the bytes
    of files that are not to be read.
    """
    curable = [f for f in findings if f.certainty == "certain" and f.rule in CURES]
    fixer = _Fixer(files, roots, at_hand or {})
    for file in dict.fromkeys(file_and_cell(f.at.path)[0] for f in curable):
        if file in files:
            own = [f for f in curable if file_and_cell(f.at.path)[0] == file]
            fixed = fixer.fix(file, own)
            if fixed is not None:
                yield fixed


class _State(NamedTuple):
    """A file as it is after some edits, and what a check says of it."""

    content: Content
    script: Script
    books: Books
    wanted: Wanted

    def found(self) -> Iterator[tuple[Finding, Finding]]:
        """The findings in this file, as people see them, and with places in its text."""
        assert self.content.source is not None
        file = os.path.abspath(self.content.path)
        for finding in self.books.findings:
            if key_of(finding)[1] == file:
                yield finding, in_text(finding, self.content.source)

    def left(self) -> set[tuple[str, int]]:
        """Rules and lines of what is still found."""
        return {(finding.rule, finding.at.line) for _, finding in self.found()}


class _Fixer:
    def __init__(
        self, files: Sequence[str], roots: tuple[str, ...], at_hand: Mapping[str, bytes]
    ) -> None:
        self._importers = Importers(files, self._read)
        self._roots = roots
        self._bytes = dict(at_hand)
        self._around: dict[str, Content] = {}

    def fix(self, file: str, findings: Sequence[Finding]) -> Fixed | None:
        """Cures what can be cured of these."""
        content = Content(file, self._read(file))
        script = content.script()
        if content.source is None or script is None:
            return None
        calling = {os.path.abspath(path) for finding in findings for path in _callers(finding)}
        self._around = {
            other: Content(other, self._read(other))
            for other in self._importers.of(file)
            if relevant(self._read(other)) or os.path.abspath(other) in calling
        }
        wanted = tuple((f, in_text(f, content.source).at.line) for f in findings)
        state = _State(content, script, self._books(content), wanted)
        while (better := self._better(state)) is not None:
            state = better
        if state.content is content:
            return None
        self._bytes[file] = state.content.data
        left = state.left()
        cured = tuple(f for f, line in state.wanted if (f.rule, line) not in left)
        return Fixed(file, content.data, state.content.data, cured)

    def _better(self, state: _State) -> _State | None:
        wanted = {(finding.rule, line) for finding, line in state.wanted}
        for seen, finding in state.found():
            if finding.certainty == "certain" and (finding.rule, finding.at.line) in wanted:
                better = self._cured(state, seen, base=state.books, chain=budget.LONGEST_FIX_CHAIN)
                if better is not None:
                    return better
        return None

    def _cured(self, state: _State, finding: Finding, *, base: Books, chain: int) -> _State | None:
        """The file without the finding, and with nothing worse than in the base; else None."""
        new = self._after(state, finding)
        if new is None or not new.books.as_clear_as(base):
            return None
        if not new.books.rid_of(key_of(finding), state.books):
            return None
        worse = new.books.worse_than(base)
        if not worse:
            return new
        for seen, _ in list(new.found()) if chain > 1 else ():
            if key_of(seen) in worse and seen.certainty == "certain" and seen.rule in CURES:
                better = self._cured(new, seen, base=base, chain=chain - 1)
                if better is not None and better.books.rid_of(key_of(finding), base):
                    return better
        return None

    def _after(self, state: _State, finding: Finding) -> _State | None:
        """The file after the edits of the finding's cure."""
        assert state.content.source is not None
        placed = in_text(finding, state.content.source)
        edits = CURES[finding.rule](Fault(state.script, placed))
        content = state.content.edited(edits) if edits else None
        script = content.script() if content else None
        if not edits or content is None or script is None:
            return None
        if script.text != edited(state.script.text, edits):
            return None  # the edit has made a magic of something, or was one
        wanted = tuple(
            (wish, script.line_of(moved(state.script.line_start(line), edits)))
            for wish, line in state.wanted
        )
        return _State(content, script, self._books(content), wanted)

    def _books(self, content: Content) -> Books:
        return Books({content.path: content, **self._around}, self._roots)

    def _read(self, file: str) -> bytes:
        if file not in self._bytes:
            data = read_bytes(file)
            self._bytes[file] = b"" if isinstance(data, Trouble) else data
        return self._bytes[file]


def _callers(finding: Finding) -> Iterator[str]:
    """The files that call what the finding is in, which need not say anything of gradients."""
    place = finding.at.via
    while place is not None:
        yield file_and_cell(place.path)[0]
        place = place.via
