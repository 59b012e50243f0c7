"""One line per finding, for editors and `grep`."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.verdict import Verdict
from gradledger.report.evidence import at
from gradledger.report.inspection import MEANINGS, Inspection
from gradledger.report.sources import Sources
from gradledger.report.terminal import Line
from gradledger.report.visible import visible
from gradledger.rules import find
from gradledger.rules.ordering import ordered


def lines(verdict: Verdict | Inspection) -> Iterator[Line]:
    """`path:line:column: CODE message`, worst first."""
    sources = Sources(verdict.sources)
    for finding in ordered(verdict.findings):
        rule = find(finding.rule)
        condition = f" ({visible(finding.condition)})" if finding.condition else ""
        unsure = f" ({finding.certainty})" if finding.certainty in MEANINGS else ""
        yield (
            (f"{at(finding.at)}:{sources.column(finding.at)}", "title"),
            ": ",
            (rule.code, rule.severity.value),
            f" {rule.says}{condition}{unsure}",
        )
