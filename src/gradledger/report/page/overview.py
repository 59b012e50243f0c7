"""The verdict and facts about the run, for the top of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gradledger.ledger.outcomes import Tally
from gradledger.ledger.verdict import Verdict
from gradledger.report.balance import balance, faultless
from gradledger.report.chronicle import Chronicle
from gradledger.report.counts import counted
from gradledger.report.gaps import gaps
from gradledger.report.paths import shown
from gradledger.report.visible import cut, visible
from gradledger.rules.ordering import WORST_FIRST, severity

LONGEST = 400
"""Longer command lines are cut."""


class Figure(NamedTuple):
    """An important number, and what it counts."""

    value: str
    says: str
    kind: str = ""


class Share(NamedTuple):
    """A part of all deposits."""

    kind: str
    says: str
    entries: int
    percent: float


class Overview(NamedTuple):
    """What a person wants to know first. With several ranks, the numbers are those of the first."""

    title: str
    judged: str
    """`balance`, `unbalanced`, `unseen` or `nothing`."""
    headline: str
    score: str
    empty: bool
    """Nothing was found, and nothing counted."""
    remarks: tuple[str, ...]
    figures: tuple[Figure, ...]
    counted_on: str
    deposits: str
    shares: tuple[Share, ...]
    facts: tuple[tuple[str, str], ...]


def overview(chronicles: Sequence[Chronicle], verdict: Verdict) -> Overview:
    """The overview of all ranks, in their order."""
    judged, headline = _judged(verdict)
    return Overview(
        title=visible(verdict.subject),
        judged=judged,
        headline=headline,
        score=score(verdict),
        empty=_empty(verdict),
        remarks=tuple(_remarks(chronicles, verdict)),
        figures=_figures(chronicles, verdict),
        counted_on=f"rank {chronicles[0].run.rank}" if len(chronicles) > 1 else "",
        deposits=counted(verdict.tally.entries, "deposit"),
        shares=shares(verdict.tally),
        facts=tuple(_facts(chronicles, verdict)),
    )


def score(verdict: Verdict) -> str:
    """`1 error, 2 warnings`; `no findings` if there are none."""
    found = Counter(map(severity, verdict.findings))
    said = ", ".join(counted(found[s], s.value) for s in WORST_FIRST if found[s])
    return said or "no findings"


def left(tally: Tally) -> int:
    """Entries that were neither spent nor cleared."""
    return max(tally.entries - tally.spent - tally.lost - tally.wasted, 0)


def shares(tally: Tally) -> tuple[Share, ...]:
    """What became of all deposits; each time that one is spent again comes on top."""
    fates = (
        ("spent", "spent", tally.spent),
        ("again", "times spent again", tally.respent),
        ("wasted", "not needed: cleared after a skipped step or a use elsewhere", tally.wasted),
        ("lost", "lost: cleared before any use", tally.lost),
        ("left", "left unspent", left(tally)),
    )
    total = max(sum(n for *_, n in fates), 1)
    return tuple(Share(k, says, n, 100 * n / total) for k, says, n in fates if n)


def _judged(verdict: Verdict) -> tuple[str, str]:
    if _empty(verdict):
        if verdict.unseen or verdict.trouble:
            return "unseen", "No verdict."
        return "nothing", "There was nothing to audit."
    if balance(verdict):
        return "balance", "The books balance."
    if faultless(verdict):
        return "unseen", "No fault found in what was seen."
    books = "As far as they were kept, the books" if verdict.trouble else "The books"
    return "unbalanced", f"{books} do not balance."


def _empty(verdict: Verdict) -> bool:
    return not verdict.findings and not verdict.tally.entries


def _remarks(chronicles: Sequence[Chronicle], verdict: Verdict) -> list[str]:
    """What keeps the rest from being the whole story."""
    said = [gap.sentence for gap in gaps(verdict)]
    cut_off = [c for c in chronicles if not c.ended]
    if cut_off:
        who = "The run" if len(chronicles) == 1 else _ranks(cut_off)
        said.append(f"{who} was cut off, or still goes on: this is what was recorded until then.")
    lost = sum(c.lost for c in chronicles)
    if lost:
        said.append(f"{counted(lost, 'thing')} could not be recorded: the disk was in trouble.")
    return said


def _ranks(chronicles: Sequence[Chronicle]) -> str:
    numbers = ", ".join(str(c.run.rank) for c in chronicles)
    return f"Rank{'s' * (len(chronicles) > 1)} {numbers}"


def _figures(chronicles: Sequence[Chronicle], verdict: Verdict) -> tuple[Figure, ...]:
    tally = verdict.tally
    windows = chronicles[0].windows if chronicles else 0
    figures = [
        Figure(f"{tally.backwards:,}", _noun(tally.backwards, "backward pass")),
        Figure(f"{tally.steps:,}", _noun(tally.steps, "step")),
        Figure(f"{tally.skipped_steps:,}", "skipped", "skipped" if tally.skipped_steps else ""),
        Figure(f"{verdict.parameters:,}", _noun(verdict.parameters, "parameter")),
    ]
    if windows != tally.steps:  # some steps found nothing new to spend
        figures.insert(1, Figure(f"{windows:,}", _noun(windows, "window")))
    if len(chronicles) > 1:
        figures.append(Figure(str(len(chronicles)), "ranks"))
    return tuple(figures)


def _noun(n: int, thing: str) -> str:
    return counted(n, thing).split(" ", 1)[1]


def _facts(chronicles: Sequence[Chronicle], verdict: Verdict) -> list[tuple[str, str]]:
    if not chronicles:
        return []
    run = chronicles[0].run
    facts = [("Script", shown(run.script))]
    if run.argv:
        facts.append(("Arguments", " ".join(run.argv)))
    facts.append(("Versions", ", ".join(f"{k} {v}" for k, v in run.versions.items())))
    facts.append(("Started", f"{run.started_at:%d %B %Y, %H:%M} {run.started_at:%Z}".strip()))
    facts.append(("Took", duration(max(c.seconds for c in chronicles) or verdict.seconds)))
    return [(name, visible(cut(value, LONGEST))) for name, value in facts if value]


def duration(seconds: float) -> str:
    """`1.2 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"
