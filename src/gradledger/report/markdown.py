"""A verdict as short Markdown, for the summary of a CI job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import StringIO

from gradledger.ledger.findings import Finding
from gradledger.ledger.verdict import Verdict
from gradledger.report.evidence import at
from gradledger.report.inspection import Inspection
from gradledger.report.terminal import Line, Terminal
from gradledger.report.visible import visible
from gradledger.rules import find
from gradledger.rules.explanation import sentence
from gradledger.rules.framework_cures import fix
from gradledger.rules.homepage import page_of
from gradledger.rules.ordering import ordered, severity

MOST = 50
"""The most findings in a summary: more aren't read, and hosts truncate long ones."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def summary(verdict: Verdict | Inspection) -> str:
    """The verdict in a sentence, a table of the findings, and what the verdict doesn't cover."""
    return "\n".join([f"## gradledger: {visible(verdict.subject)}", "", *_body(verdict), ""])


def _body(verdict: Verdict | Inspection) -> Iterator[str]:
    said, *rest = _sentences(verdict)
    yield f"**{_escaped(said)}**"
    found = ordered(verdict.findings)
    if found:
        yield ""
        yield "| | rule | where | what | fix |"
        yield "| --- | --- | --- | --- | --- |"
        yield from map(_row, found[:MOST])
    if len(found) > MOST:
        yield f"\nand {len(found) - MOST} more"
    for line in rest:
        yield f"\n{_escaped(line)}"


def _row(finding: Finding) -> str:
    rule = find(finding.rule)
    url = page_of(rule)
    name = f"[{rule.code}]({url})" if url else rule.code
    kind = severity(finding).value + (" (possible)" if finding.certainty == "possible" else "")
    what = f"{sentence(rule.says)} {sentence(finding.detail)}"
    cells = (_escaped(at(finding.at)), _escaped(what), _escaped(fix(finding)))
    return f"| {kind} | {name} {rule.name} | {' | '.join(cells)} |"


def _sentences(verdict: Verdict | Inspection) -> list[str]:
    """The sentences below the findings, one paragraph each."""
    stream = StringIO()
    terminal = Terminal(stream)
    terminal.width = 10_000  # a paragraph is one line here
    terminal.show(_lines(verdict, terminal))
    return [line.strip() for line in stream.getvalue().splitlines() if line.strip()]


def _lines(verdict: Verdict | Inspection, terminal: Terminal) -> Iterable[Line]:
    from gradledger.report import summary, survey

    if isinstance(verdict, Inspection):
        return survey.lines(verdict, terminal)
    return summary.lines(verdict, terminal)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", visible(text))
