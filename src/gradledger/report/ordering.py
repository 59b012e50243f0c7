"""Which finding comes first, and how bad it is all together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from gradledger.ledger.findings import Finding
from gradledger.ledger.verdict import Verdict
from gradledger.rules import Severity, find

WORST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Errors first, then warnings, then infos, each in reading order."""
    return sorted(findings, key=lambda f: (WORST_FIRST.index(severity(f)), *f.at.sort_key, f.rule))


def severity(finding: Finding) -> Severity:
    """How bad it is to leave it so."""
    return find(finding.rule).severity


def worst(verdict: Verdict) -> Severity | None:
    """The severity of the worst finding; None where there is none."""
    found = {severity(finding) for finding in verdict.findings}
    return next((level for level in WORST_FIRST if level in found), None)


def fails(verdict: Verdict, fail_on: Literal["error", "warning"]) -> bool:
    """Is there a finding at least that bad?"""
    level = worst(verdict)
    return level is not None and WORST_FIRST.index(level) <= WORST_FIRST.index(Severity(fail_on))


def balance(verdict: Verdict) -> bool:
    """The books balance: no law is broken. An info is about cost, not about the result."""
    return not fails(verdict, "warning")
