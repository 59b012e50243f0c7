"""Which finding comes first."""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.ledger.findings import Finding
from gradledger.rules.catalogue import find
from gradledger.rules.rule import Severity

WORST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Errors first, then warnings, then infos, each in reading order."""
    return sorted(findings, key=lambda f: (WORST_FIRST.index(severity(f)), *f.at.sort_key, f.rule))


def severity(finding: Finding) -> Severity:
    """How bad it is to leave it so."""
    return find(finding.rule).severity
