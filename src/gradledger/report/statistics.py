"""The number of findings per rule, the most frequent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradledger.ledger.verdict import Verdict
from gradledger.report.inspection import Inspection
from gradledger.report.terminal import Line
from gradledger.rules import find


def lines(verdict: Verdict | Inspection) -> Iterator[Line]:
    """A row for each rule: the number, the rule and its severity."""
    counts = Counter(finding.rule for finding in verdict.findings)
    rules = sorted(map(find, counts), key=lambda rule: (-counts[rule.code], rule.code))
    if not rules:
        return
    digits = len(f"{max(counts.values()):,}")
    widest = max(len(rule.name) for rule in rules)
    for rule in rules:
        level = rule.severity.value
        yield (
            f"{counts[rule.code]:>{digits},}  ",
            (rule.code, "title"),
            f"  {rule.name:<{widest}}  ",
            (level, level),
        )
