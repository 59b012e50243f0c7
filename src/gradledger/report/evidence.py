"""The other places of a finding, one per row: what happened, where, the code, and a note."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gradledger.ledger.findings import CURE, Evidence, Finding, WitnessStep
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.report.paths import shown
from gradledger.report.sources import Sources
from gradledger.report.terminal import Line, Terminal
from gradledger.report.visible import columns, cut, visible

MARGIN = "   "
MOST = 8
"""More places than this would hide the point."""
GAP = "  "
COLUMNS = ("when", "what", "where")
LEAST_CODE = 40
"""At least this much of the code is shown, however long the paths are, even if the row wraps."""


class Row(NamedTuple):
    """One of the places; `where` is empty where there is none, and the note says all."""

    what: str
    where: str = ""
    code: str = ""
    note: str = ""
    when: str = ""
    """On a path: the iteration it belongs to."""


def rows(finding: Finding, terminal: Terminal, sources: Sources) -> Iterator[Line]:
    """The path that shows the fault, or else its places, in columns.

    Long code is cut to what the terminal has room for.
    """
    if finding.witness:
        from gradledger.report.witness import path

        path_rows = list(path(finding, sources))
        others = [e for e in finding.evidence if not _is_on(e, finding.witness)]
        found = [*path_rows, *places(finding, sources, others)]
    else:
        path_rows = []
        found = list(places(finding, sources))
    left_out = found[MOST:] if len(found) > MOST + 1 and not finding.witness else []
    found = found[: len(found) - len(left_out)]
    when, what, where = (_widest(getattr(row, name) for row in found) for name in COLUMNS)
    margin = MARGIN + (when + len(GAP)) * bool(when) * " "
    room = max(terminal.width - len(margin) - what - where - 2 * len(GAP), LEAST_CODE)
    codes = [cut(row.code, room) for row in found]
    for row, code in zip(found, codes, strict=True):
        line: Line = (MARGIN, _padded(row.what, what), GAP)
        if when and row in path_rows:
            line = (MARGIN, _padded(row.when, when), GAP, *line[1:])
        elif when:  # what is true of the whole path comes before its iterations
            line = (MARGIN, _padded(row.what, when + len(GAP) + what), GAP)
        if not row.where:
            yield (*line, row.note)
            continue
        if not (code or row.note):
            yield (*line, row.where)
            continue
        line = (*line, _padded(row.where, where), GAP, (code, "code"))
        gap = " " * (_widest(codes) - columns(code)) + GAP
        yield (*line, gap, (row.note, "dim")) if row.note else line
    if left_out:
        yield (MARGIN, (f"and {len(left_out)} more places", "dim"))


def _is_on(evidence: Evidence, witness: Iterable[WitnessStep]) -> bool:
    """True if the path already says this."""
    return any((evidence.what, evidence.at) == (step.what, step.at) for step in witness)


def at(place: Place) -> str:
    """`train.py:41`: as short as possible without being ambiguous."""
    return visible(str(replace(place, path=shown(place.path))))


def callers(place: Place) -> list[Place]:
    """The calls that led to a place, innermost first."""
    found: list[Place] = []
    while place.via is not None and len(found) < MOST:
        place = place.via
        found.append(place)
    return found


def places(
    finding: Finding, sources: Sources, among: Iterable[Evidence] | None = None
) -> Iterator[Row]:
    """What happened, where, the code there, and a note: the evidence, and then the callers.

    `among`: only these of the evidence.
    """
    for evidence in finding.evidence if among is None else among:
        if evidence.what == CURE:
            continue
        what, note = visible(evidence.what), visible(evidence.note)
        if evidence.at is None:
            yield Row(what, note=note)
            continue
        notes = [note, *called_from(evidence.at, finding)]
        code = sources.code(evidence.at)
        yield Row(what, at(evidence.at), code, ", ".join(filter(None, notes)))
    for caller in callers(finding.at):
        yield Row("called", at(caller), sources.code(caller))


def called_from(place: Place, finding: Finding) -> list[str]:
    """The calls that led to a place; the finding's own callers have rows of their own."""
    led = callers(place) if place.via != finding.at.via else []
    return [f"called from {at(caller)}" for caller in led]


def _widest(column: Iterable[str]) -> int:
    return max(map(columns, column), default=0)


def _padded(text: str, most: int) -> str:
    return text + " " * (most - columns(text))
