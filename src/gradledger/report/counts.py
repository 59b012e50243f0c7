"""How much a finding concerns: `6 of 6 parameters, 599 of 600 steps`."""

from __future__ import annotations

from gradledger.ledger.events import Backward, Clear, Clip, Event, Schedule, Step
from gradledger.report.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.ledger.findings import Finding
    from gradledger.ledger.verdict import Verdict

NAMED = 3
"""Up to this many parameters are listed by name; more are only counted."""

_HERE = ""
_STEPS = ("GL101", "GL102", "GL202", "GL402", "GL604", "GL801", "GL901", "GL902", "GL903")
COUNTED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(_STEPS, ("step", _HERE)),
    **dict.fromkeys(("GL301", "GL302", "GL603"), ("step", "spent")),
    **dict.fromkeys(("GL201", "GL204"), ("clear", _HERE)),
    **dict.fromkeys(("GL401", "GL501", "GL502"), ("clip", _HERE)),
    **dict.fromkeys(("GL503", "GL504"), ("scheduler step", _HERE)),
    **dict.fromkeys(("GL703", "GL802"), ("backward pass", _HERE)),
    "GL702": ("backward pass", "walked again"),
}
"""What a finding's count means, and which piece of evidence has the place where it happens.

A rule that isn't here is counted in times. Not every rule is reported at the event that breaks
it: GL301 is reported at the backward pass and broken by the step.
"""

KINDS: dict[str, type[Event]] = {
    "step": Step,
    "clear": Clear,
    "clip": Clip,
    "scheduler step": Schedule,
    "backward pass": Backward,
}
"""The event types of each: one line of the program may call a library that does many things."""

NOT_OWNED = ("GL601", "GL606")
"""Their cells may have no optimizer, so they aren't a part of the optimizers' parameters."""


def counted(n: int, thing: str) -> str:
    """`1 step`, `2 passes`, `20,000 steps`."""
    plural = "" if n == 1 else "es" if thing.endswith(("s", "ch")) else "s"
    return f"{n:,} {thing}{plural}"


def out_of(n: int, total: int, thing: str) -> str:
    """`599 of 600 steps`."""
    return f"{n:,} of {counted(total, thing)}"


def extent(finding: Finding, verdict: Verdict) -> str:
    """Which parameters and how often; nothing where no run was observed."""
    if finding.certainty != "observed":
        return ""
    return ", ".join(filter(None, (_parameters(finding, verdict), _times(finding, verdict))))


def occurrences(finding: Finding, verdict: Verdict) -> int | None:
    """How often the event that the finding counts happened in total; None if unknown."""
    thing, where = COUNTED.get(finding.rule, ("", None))
    if where is None:
        return None
    at = (
        finding.at
        if where == _HERE
        else next((e.at for e in finding.evidence if e.what == where), None)
    )
    total = None if at is None else verdict.occurrences.get((at, KINDS[thing]))
    return total if total is not None and total >= finding.count else None


def _parameters(finding: Finding, verdict: Verdict) -> str:
    n = finding.parameters
    if not n:
        return ""
    known = finding.rule not in NOT_OWNED and n <= verdict.parameters
    number = out_of(n, verdict.parameters, "parameter") if known else counted(n, "parameter")
    if n > NAMED:
        return number
    return f"{', '.join(map(visible, sorted(finding.cells)))} ({number})"


def _times(finding: Finding, verdict: Verdict) -> str:
    total = occurrences(finding, verdict)
    if total is not None:
        thing, _ = COUNTED[finding.rule]
        return out_of(finding.count, total, thing)
    return "once" if finding.count == 1 else counted(finding.count, "time")
