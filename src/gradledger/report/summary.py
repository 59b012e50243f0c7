"""The verdict in one sentence, and the counts of the run below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradledger.ledger.verdict import Verdict
from gradledger.report.balance import balance, faultless, worst
from gradledger.report.counts import counted
from gradledger.report.gaps import gaps
from gradledger.report.terminal import Line, Terminal
from gradledger.report.visible import visible
from gradledger.rules.ordering import WORST_FIRST, ordered, severity


def lines(verdict: Verdict, terminal: Terminal) -> Iterator[Line]:
    """The last lines: do the books balance, the counts, where to read on, what was not seen."""
    tally = verdict.tally
    if not verdict.findings and not tally.entries:
        yield from _nothing(verdict, terminal)
        yield from uncovered(verdict, terminal)
        return
    judged, style = _judged(verdict)
    yield ((judged, style), f": {_score(verdict)}.")
    if said := _events(verdict):
        yield from terminal.prose(said)
    if not faultless(verdict) and tally.entries:
        yield from terminal.prose(f"{_deposits(verdict, ': ')}.")
    if verdict.findings:
        codes = dict.fromkeys(finding.rule for finding in ordered(verdict.findings))
        yield ("  To read on: ", (f"gradledger rule {' '.join(codes)}", "code"))
    yield from uncovered(verdict, terminal)


def uncovered(verdict: Verdict, terminal: Terminal) -> Iterator[Line]:
    """What was not looked at: having no findings says nothing about it."""
    for gap in gaps(verdict):
        yield from terminal.prose(gap.text, lead=gap.lead, indent=0)


def _judged(verdict: Verdict) -> tuple[str, str]:
    """The headline, and the style that shows its severity."""
    if balance(verdict):
        return "The books balance", "cure"
    level = worst(verdict)
    if level is None or faultless(verdict):
        return "No fault found in what was seen", "info"
    books = "As far as they were kept, the books" if verdict.trouble else "The books"
    return f"{books} do not balance", level.value


def _nothing(verdict: Verdict, terminal: Terminal) -> Iterator[Line]:
    """If something was not observed, the verdict can't say that there was nothing to audit."""
    subject = visible(verdict.subject)
    if verdict.unseen or verdict.trouble:
        said = f"no backward pass of {subject} was seen."
        yield from terminal.prose(said, lead="No verdict:", indent=0, lead_style="info")
        return
    said = f"{subject} never called backward()."
    yield from terminal.prose(said, lead="Nothing to audit:", indent=0)


def _score(verdict: Verdict) -> str:
    """`1 error, 2 warnings` if there are findings, else what became of the deposits."""
    found = Counter(map(severity, verdict.findings))
    score = ", ".join(counted(found[s], s.value) for s in WORST_FIRST if found[s])
    if not faultless(verdict):
        return score
    return "; ".join(filter(None, (_deposits(verdict), score)))


def _events(verdict: Verdict) -> str:
    tally = verdict.tally
    if not (tally.backwards or tally.steps or tally.skipped_steps):
        return ""
    steps = counted(tally.steps, "step")
    if tally.skipped_steps:
        steps += f" and {tally.skipped_steps:,} skipped"
    parts = [counted(tally.backwards, "backward pass"), steps]
    if verdict.parameters:
        parts.append(counted(verdict.parameters, "parameter"))
    if verdict.ranks > 1:
        parts.append(counted(verdict.ranks, "rank"))
    return f"{', '.join(parts)}."


def _deposits(verdict: Verdict, colon: str = ", ") -> str:
    """`3,600 deposits, 3,600 spent`, and how many were cleared or left unspent."""
    tally = verdict.tally
    if not tally.entries:
        return ""
    left = tally.entries - tally.spent - tally.lost - tally.wasted
    fates = {
        "spent again": tally.respent,
        "lost": tally.lost,
        "wasted": tally.wasted,
        "left unspent": left,
    }
    told = [f"{tally.spent:,} spent", *(f"{n:,} {fate}" for fate, n in fates.items() if n > 0)]
    return f"{counted(tally.entries, 'deposit')}{colon}{', '.join(told)}"
