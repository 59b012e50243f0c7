"""Compares two runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from gradledger.ledger.verdict import Verdict
from gradledger.report.chronicle import Chronicle, together
from gradledger.report.comparison import lanes, measures
from gradledger.report.comparison.findings import Findings, matched
from gradledger.report.comparison.lanes import Windows
from gradledger.report.comparison.measures import Measures
from gradledger.report.comparison.parting import Parting, parting
from gradledger.report.paths import shown


class Side(NamedTuple):
    """One of the two runs."""

    verdict: Verdict
    ended: bool
    turns: int
    """Steps and skipped steps of all optimizers on the first rank."""
    pace: float | None
    """Median seconds from one step to the next on the first rank."""


class Setting(NamedTuple):
    """A setting of the runs (versions, arguments, …) that differs."""

    name: str
    before: str
    after: str


class Comparison(NamedTuple):
    """The result of comparing two runs."""

    before: Side
    after: Side
    findings: Findings
    windows: tuple[Windows, ...]
    measures: tuple[Measures, ...]
    parting: Parting | None
    """The first step at which a rank did something else; None if all did the same to the end."""
    settings: tuple[Setting, ...]


def compare(
    before: Sequence[Chronicle], after: Sequence[Chronicle], *, kept: Iterable[str] | None = None
) -> Comparison:
    """What changed from one run to the other. `kept`: only findings of these rules.

    Each run is all of its ranks. Windows and norms are compared rank by rank.
    """
    rules = None if kept is None else frozenset(kept)
    sides = _side(before, rules), _side(after, rules)
    others = {chronicle.run.rank: chronicle for chronicle in after}
    pairs = [(one, others[one.run.rank]) for one in before if one.run.rank in others]
    parted = [found for found in (parting(*pair) for pair in pairs) if found]
    scripts = before[0].run.script, after[0].run.script
    return Comparison(
        *sides,
        findings=matched(sides[0].verdict, sides[1].verdict, scripts),
        windows=lanes.compared(pairs),
        measures=tuple(found for pair in pairs for found in measures.compared(*pair)),
        parting=min(parted, key=lambda found: found.step, default=None),
        settings=tuple(_settings(before[0], after[0])),
    )


def _side(chronicles: Sequence[Chronicle], rules: frozenset[str] | None) -> Side:
    verdict = together(chronicles)
    if rules is not None:
        kept = tuple(found for found in verdict.findings if found.rule in rules)
        verdict = verdict._replace(findings=kept)
    times = chronicles[0].times
    gaps = [now - was for was, now in pairwise(times)]
    tally = chronicles[0].verdict.tally
    return Side(
        verdict,
        all(chronicle.ended for chronicle in chronicles),
        tally.steps + tally.skipped_steps,
        median(gaps) / 1e9 if gaps else None,
    )


def _settings(before: Chronicle, after: Chronicle) -> Iterable[Setting]:
    old, new = _described(before), _described(after)
    for name in dict.fromkeys((*old, *new)):
        if old.get(name, "") != new.get(name, ""):
            yield Setting(name, old.get(name, ""), new.get(name, ""))


def _described(chronicle: Chronicle) -> dict[str, str]:
    run = chronicle.run
    return {
        "script": shown(run.script),
        "arguments": " ".join(run.argv),
        **run.versions,
        "ranks": str(run.world_size),
        "parameters": str(chronicle.verdict.parameters),
    }
