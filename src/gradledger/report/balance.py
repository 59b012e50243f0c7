"""Do the books balance, and how bad is it if they do not?"""

from __future__ import annotations

from gradledger.rules import Severity
from gradledger.rules.ordering import WORST_FIRST, severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from gradledger.ledger.verdict import Verdict
    from gradledger.report.inspection import Inspection


def worst(verdict: Verdict | Inspection) -> Severity | None:
    """The severity of the worst finding; None where there is none."""
    found = {severity(finding) for finding in verdict.findings}
    return next((level for level in WORST_FIRST if level in found), None)


def fails(verdict: Verdict | Inspection, fail_on: Literal["error", "warning", "info"]) -> bool:
    """Is there a finding at least that bad?"""
    level = worst(verdict)
    return level is not None and WORST_FIRST.index(level) <= WORST_FIRST.index(Severity(fail_on))


def balance(verdict: Verdict | Inspection) -> bool:
    """The books balance: no law is broken. An info is about cost, not about the result."""
    return not fails(verdict, "warning")
