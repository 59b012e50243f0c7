"""Findings as text, each in the form of a compiler error."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.findings import Finding
from gradledger.ledger.verdict import Verdict
from gradledger.report.counts import extent
from gradledger.report.evidence import MARGIN, at, callers, rows
from gradledger.report.frames import Mark, framed
from gradledger.report.inspection import MEANINGS, Inspection
from gradledger.report.sources import Sources
from gradledger.report.terminal import Line, Piece, Terminal
from gradledger.report.visible import visible
from gradledger.rules import find
from gradledger.rules.framework_cures import fix
from gradledger.rules.ordering import ordered, severity


def full(verdict: Verdict | Inspection, terminal: Terminal) -> Iterator[Line]:
    """The findings, worst first, each with its code frame and an empty line below."""
    sources = Sources(verdict.sources)
    for finding in ordered(verdict.findings):
        yield from _finding(finding, verdict, terminal, sources)
        yield ()


def brief(verdict: Verdict | Inspection, terminal: Terminal) -> Iterator[Line]:
    """A line for each finding, worst first."""
    for finding in ordered(verdict.findings):
        yield _headline(finding, terminal)


def _finding(
    finding: Finding, verdict: Verdict | Inspection, terminal: Terminal, sources: Sources
) -> Iterator[Line]:
    rule = find(finding.rule)
    yield _headline(finding, terminal)
    yield from _frame(finding, terminal, sources)
    yield from rows(finding, terminal, sources)
    if finding.granted:
        yield from _remark(terminal, "assumes", "; ".join(map(visible, finding.granted)))
    yield from _remark(terminal, "fix", fix(finding), style="cure")
    yield from _remark(terminal, "explains", rule.symptom)
    if finding.certainty in MEANINGS:
        yield from _remark(terminal, finding.certainty, MEANINGS[finding.certainty])
    if isinstance(verdict, Verdict) and (said := extent(finding, verdict)):
        yield from terminal.prose(said, lead=" =", indent=3, lead_style="dim")


def _headline(finding: Finding, terminal: Terminal) -> Line:
    """On one line, however long: editors parse it, and people search for it."""
    rule, level = find(finding.rule), severity(finding).value
    # An error that was observed or is certain is the usual case, and needs no word.
    sure = finding.certainty
    words = [level] * (level != "error") + [sure] * (sure in MEANINGS)
    kind = f" ({', '.join(words)})" if words else ""
    condition = f" ({visible(finding.condition)})" if finding.condition else ""
    return (
        (at(finding.at), "title"),
        ": ",
        (f"{rule.code} {rule.name}{kind}", level),
        ": ",
        *terminal.words(f"{rule.says}{condition}"),
    )


def _frame(finding: Finding, terminal: Terminal, sources: Sources) -> Iterator[Line]:
    """The finding's line and those of its evidence in that file; gaps of one line are filled."""
    here = finding.at
    if sources.line(here.path, here.line) is None:
        yield from terminal.prose(finding.detail, indent=len(MARGIN))
        return
    numbers = {p.line for p in (*finding.places, *callers(here)) if p.path == here.path}
    numbers |= {n + 1 for n in numbers if n + 2 in numbers}
    found = {n: line for n in numbers if (line := sources.line(here.path, n)) is not None}
    code: dict[int, Piece] = {n: terminal.painted([line])[0] for n, line in found.items()}
    mark = Mark(*sources.span(here), visible(finding.detail))
    style = severity(finding).value
    yield from framed(terminal, code, {here.line: mark}, style=style, margin=len(MARGIN))


def _remark(terminal: Terminal, name: str, text: str, *, style: str = "dim") -> Iterator[Line]:
    yield from terminal.prose(text, lead=f" = {name}:", indent=3, lead_style=style)
