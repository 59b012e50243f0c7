"""What all open documents have to show, by the document in which it is shown.

A check of one file may find a fault in another that it imports, and two files the same fault.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from lsprotocol import types
from pygls.workspace import PositionCodec

from gradledger.server.checking import Report
from gradledger.server.diagnostics import Shown, shown

Diagnostics = list[types.Diagnostic]


class Board:
    """The last report of each document."""

    def __init__(self, spelled: Callable[[str], str] = str) -> None:
        self._spelled = spelled
        """An address as the client writes it: one file may have several."""
        self.reports: dict[str, Report] = {}
        self._shown: dict[str, tuple[Shown, ...]] = {}
        self._published: dict[str, Diagnostics] = {}

    def put(self, report: Report, codec: PositionCodec) -> None:
        """A document was checked."""
        self.reports[report.document.uri] = report
        self._shown[report.document.uri] = tuple(shown(report, codec))

    def remove(self, uri: str) -> None:
        """A document was closed."""
        self.reports.pop(uri, None)
        self._shown.pop(uri, None)

    def at(self, uri: str, place: types.Range) -> list[Shown]:
        """What is shown in a document or cell, on these lines."""
        return [
            one
            for one in chain.from_iterable(self._shown.values())
            if self._spelled(one.uri) == uri and _touches(one.diagnostic.range, place)
        ]

    def news(self, *always: str) -> dict[str, Diagnostics]:
        """What is to be published: all that has changed, and what these documents show."""
        now: dict[str, Diagnostics] = {uri: [] for uri in (*always, *self._published)}
        seen: set[tuple[str, object, int, int]] = set()
        for one in chain.from_iterable(self._shown.values()):
            start, uri = one.diagnostic.range.start, self._spelled(one.uri)
            key = uri, one.diagnostic.code, start.line, start.character
            if key not in seen:
                seen.add(key)
                now.setdefault(uri, []).append(one.diagnostic)
        before, self._published = self._published, {u: found for u, found in now.items() if found}
        return {u: found for u, found in now.items() if u in always or before.get(u, []) != found}


def _touches(one: types.Range, other: types.Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line
