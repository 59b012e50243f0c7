"""The findings, ready for the template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from markupsafe import Markup

from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.ledger.verdict import Verdict
from gradledger.report.counts import extent
from gradledger.report.evidence import at, callers, places
from gradledger.report.inspection import Inspection
from gradledger.report.page.painting import painted
from gradledger.report.page.patches import Patch, cure, example
from gradledger.report.page.prose import prose
from gradledger.report.sources import Sources
from gradledger.report.visible import visible
from gradledger.rules import find
from gradledger.rules.explanation import sentence
from gradledger.rules.framework_cures import fix
from gradledger.rules.ordering import severity

Cures = Mapping[tuple[str, Place], str]

ROUND = 2
"""How many lines are shown before and after the important ones."""


class FrameLine(NamedTuple):
    """A numbered line of a code frame; number 0 stands for lines that are left out."""

    number: int
    code: Markup
    kind: str = ""
    """`here` for the line of the finding, `place` for one of its other places."""
    start: int = 0
    """The column at which the code of the finding begins."""


class PlaceRow(NamedTuple):
    """One of the places of the finding."""

    what: str
    where: str
    code: Markup
    note: str


class Card(NamedTuple):
    """Everything that the page says about one finding."""

    number: int
    rule: str
    name: str
    severity: str
    says: Markup
    where: str
    detail: str
    frame: tuple[FrameLine, ...]
    places: tuple[PlaceRow, ...]
    fix: Markup
    symptom: Markup
    extent: str
    patch: Patch
    pinned: bool


def cards(
    verdict: Verdict | Inspection, findings: list[Finding], cures: Cures, pinned: set[int]
) -> tuple[Card, ...]:
    """A card for each finding, in the order of their numbers on the page."""
    sources = Sources(verdict.sources)
    return tuple(
        _card(number, finding, verdict, sources, cures, number - 1 in pinned)
        for number, finding in enumerate(findings, start=1)
    )


def _card(
    number: int,
    finding: Finding,
    verdict: Verdict | Inspection,
    sources: Sources,
    cures: Cures,
    pinned: bool,
) -> Card:
    rule = find(finding.rule)
    diff = cures.get((finding.rule, finding.at))
    return Card(
        number=number,
        rule=rule.code,
        name=rule.name,
        severity=severity(finding).value,
        says=prose(sentence(rule.says)),
        where=at(finding.at),
        detail=visible(finding.detail),
        frame=_frame(finding, sources),
        places=tuple(
            PlaceRow(row.what, row.where, painted(row.code), row.note)
            for row in places(finding, sources)
        ),
        fix=prose(sentence(fix(finding))),
        symptom=prose(sentence(rule.symptom)),
        extent=extent(finding, verdict) if isinstance(verdict, Verdict) else "",
        patch=cure(diff) if diff else example(rule),
        pinned=pinned,
    )


def _frame(finding: Finding, sources: Sources) -> tuple[FrameLine, ...]:
    """The finding's line and those of its evidence in the same file, with some around them."""
    here = finding.at
    if sources.line(here.path, here.line) is None:
        return ()
    matter = {p.line for p in (*finding.places, *callers(here)) if p.path == here.path}
    near = {n for line in matter for n in range(line - ROUND, line + ROUND + 1)}
    found = {n: line for n in sorted(near) if (line := sources.line(here.path, n)) is not None}
    for edge in (min, max):  # without empty lines at its start and end
        while not found[number := edge(found)].strip() and number not in matter:
            del found[number]
    indent = min((_indent(line) for line in found.values() if line.strip()), default=0)
    lines: list[FrameLine] = []
    before = next(iter(found)) - 1
    for number, line in found.items():
        if number != before + 1:
            lines.append(FrameLine(0, Markup()))
        before = number
        kind = "here" if number == here.line else "place" if number in matter else ""
        start = max(sources.span(here)[0] - indent, 0) if kind == "here" else 0
        lines.append(FrameLine(number, painted(line[indent:]), kind, start))
    return tuple(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
