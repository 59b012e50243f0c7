"""Whether the books balance, and the severity of the worst finding if they don't."""

from __future__ import annotations

from gradledger.report.inspection import Inspection
from gradledger.rules import Severity
from gradledger.rules.ordering import WORST_FIRST, severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from gradledger.ledger.verdict import Verdict

    FailOn = Literal["error", "warning", "info", "unseen"]


def worst(verdict: Verdict | Inspection) -> Severity | None:
    """The severity of the worst finding; None where there is none."""
    found = {severity(finding) for finding in verdict.findings}
    return next((level for level in WORST_FIRST if level in found), None)


def fails(verdict: Verdict | Inspection, fail_on: FailOn) -> bool:
    """Whether there is a finding of at least this severity.

    `unseen` is the strictest: errors, warnings, and anything in a run that was not observed.
    """
    if fail_on == "unseen":
        return not faultless(verdict) or bool(
            not isinstance(verdict, Inspection) and verdict.unseen
        )
    level = worst(verdict)
    return level is not None and WORST_FIRST.index(level) <= WORST_FIRST.index(Severity(fail_on))


def faultless(verdict: Verdict | Inspection) -> bool:
    """True if no finding is worse than an info, which is about cost, not about the result."""
    return not fails(verdict, "warning")


def balance(verdict: Verdict | Inspection) -> bool:
    """True if no law is broken, and nothing was left out.

    For a run: everything was observed. For a check: all code was followed, and nothing is hidden.
    """
    if isinstance(verdict, Inspection):
        return faultless(verdict) and not left_open(verdict)
    return faultless(verdict) and not (verdict.unseen or verdict.trouble)


def left_open(inspection: Inspection) -> bool:
    """True if a part was not followed or not read, or possible findings are hidden."""
    return bool(inspection.unknown or inspection.not_checked or inspection.unshown)
