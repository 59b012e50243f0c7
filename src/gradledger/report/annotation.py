"""A finding on one line, for code hosts that show it beside the code."""

from __future__ import annotations

from gradledger.ledger.findings import Finding
from gradledger.report.paths import cell_of
from gradledger.rules import find
from gradledger.rules.explanation import sentence
from gradledger.rules.framework_cures import fix


def annotation(finding: Finding) -> str:
    """The rule, what happens here, the fix, and the assumptions of the finding."""
    rule = find(finding.rule)
    cell = cell_of(finding.at.path)[1]
    here = f"Cell {cell}, line {finding.at.line}" if cell else "Here"
    assumed = f" Assumes: {'; '.join(finding.assumptions)}." if finding.assumptions else ""
    told = f"{rule.name}: {sentence(rule.says)} {here}: {finding.detail}."
    return f"{told} Fix: {fix(finding)}.{assumed}"
