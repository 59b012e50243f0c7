"""What changed between two runs, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gradledger.ledger.findings import Finding
from gradledger.ledger.verdict import Verdict
from gradledger.report.balance import balance, faultless
from gradledger.report.comparison.comparing import Comparison, Side
from gradledger.report.comparison.lanes import Change, Windows
from gradledger.report.comparison.measures import Measures
from gradledger.report.comparison.table import rows
from gradledger.report.counts import counted, extent, out_of
from gradledger.report.evidence import at
from gradledger.report.terminal import Line, Terminal
from gradledger.report.visible import visible
from gradledger.rules import find
from gradledger.rules.ordering import severity

Section = Callable[[Comparison, Terminal], Iterator[Line]]

MOST = 5
"""Up to this many kinds of changes are listed per optimizer; more would hide the point."""
TALLIED = {
    "steps": "steps",
    "skipped_steps": "skipped steps",
    "backwards": "backward passes",
    "entries": "deposits",
    "spent": "spent",
    "respent": "spent again",
    "lost": "lost",
    "wasted": "wasted",
}


def lines(comparison: Comparison, terminal: Terminal, names: tuple[str, str]) -> Iterator[Line]:
    """All changes; `names` are those of the recordings."""
    yield from _sides(comparison, names)
    for section in (
        _findings,
        *_unseen_in(comparison),
        _steps,
        _windows,
        _measures,
        _tallies,
        _settings,
    ):
        yield ()
        yield from section(comparison, terminal)


def _sides(comparison: Comparison, names: tuple[str, str]) -> Iterator[Line]:
    sides = comparison.before, comparison.after
    yield from rows(
        [
            ((word, "heading"), (visible(name), "title"), *_side(side))
            for word, name, side in zip(("before", "after"), names, sides, strict=True)
        ],
        indent=0,
    )


def _side(side: Side) -> Line:
    verdict = side.verdict
    cut_off = "" if side.ended else ", cut off"
    said = f"{visible(verdict.subject)}, {counted(verdict.tally.steps, 'step')}{cut_off}"
    if not verdict.tally.entries and not verdict.findings:
        unwatched = verdict.unseen or verdict.trouble
        return said, "no backward pass was seen" if unwatched else "nothing to audit"
    if balance(verdict):
        return said, ("the books balance", "cure")
    if faultless(verdict):
        return said, ("no fault found in what was seen", "info")
    return said, ("the books do not balance", "fault")


# Findings -----------------------------------------------------------------------------------


def _findings(comparison: Comparison, terminal: Terminal) -> Iterator[Line]:
    found = comparison.findings
    parts = {
        "new": len(found.new),
        "gone": len(found.gone),
        "more often": sum(kept.trend > 0 for kept in found.kept),
        "less often": sum(kept.trend < 0 for kept in found.kept),
        "as before": sum(kept.trend == 0 for kept in found.kept),
    }
    told = ", ".join(f"{n:,} {word}" for word, n in parts.items() if n)
    yield (("Findings: ", "heading"), told or "none, before and after")
    before, after = comparison.before.verdict, comparison.after.verdict
    listed = [_row("new", severity(f).value, f, extent(f, after)) for f in found.new]
    listed += [_row("gone", "cure", f, extent(f, before)) for f in found.gone]
    for kept in found.kept:
        word, style = _trend(kept.trend)
        was, now = extent(kept.before, before), extent(kept.after, after)
        often = now if was == now else f"{was} → {now}"
        listed.append(_row(word, style, kept.after, often))
    yield from rows(listed)


def _row(word: str, style: str, finding: Finding, often: str) -> Line:
    rule = find(finding.rule)
    return (word, style), (at(finding.at), "title"), f"{rule.code} {rule.name}", (often, "dim")


def _trend(trend: int) -> tuple[str, str]:
    if trend == 0:
        return "as before", "dim"
    return ("more often", "warning") if trend > 0 else ("less often", "cure")


# What was not seen --------------------------------------------------------------------------


def _unseen_in(comparison: Comparison) -> tuple[Section, ...]:
    """A section about unseen events, if there is anything to say."""
    sides = comparison.before.verdict, comparison.after.verdict
    return (_unseen,) if any(side.unseen for side in sides) else ()


def _unseen(comparison: Comparison, terminal: Terminal) -> Iterator[Line]:
    was, now = comparison.before.verdict.unseen, comparison.after.verdict.unseen
    said = "" if was != now else "the same, before and after"
    yield (("Not seen: " if said else "Not seen", "heading"), said)
    listed = [("", now)] if was == now else [("before", was), ("after", now)]
    told: list[Line] = []
    for word, entries in listed:
        for number, entry in enumerate(entries):
            told.append((word if not number else "", visible(entry.phrase)))
        if not entries:
            told.append((word, "nothing went unseen"))
    yield from rows(told)


# What was done ------------------------------------------------------------------------------


def _steps(comparison: Comparison, terminal: Terminal) -> Iterator[Line]:
    parted, steps = comparison.parting, comparison.before.turns
    if parted is None:
        same = f"the same things were done in all {steps:,} of them" if steps else "none in either"
        yield (("Steps: ", "heading"), same)
        return
    rank = f" on rank {parted.rank}" if comparison.before.verdict.ranks > 1 else ""
    same = f"the same things were done up to step {parted.step - 1:,}, and then not"
    first = "different things were done from the first on"
    yield (("Steps: ", "heading"), (same if parted.step > 1 else first) + rank)
    yield from rows([("before", parted.before), ("after", parted.after)])


def _windows(comparison: Comparison, terminal: Terminal) -> Iterator[Line]:
    yield (("Windows", "heading"), "" if comparison.windows else ": none")
    listed: list[Line] = []
    for windows in comparison.windows:
        name = visible(windows.optimizer)
        for said in _of_optimizer(windows):
            listed.append(((name, "title"), said))
            name = ""
    yield from rows(listed)


def _of_optimizer(windows: Windows) -> Iterator[str]:
    count = counted(windows.after, "window")
    if windows.before != windows.after:
        yield f"{windows.before:,} → {count}"
    elif windows.sizes or windows.weights:
        yield count
    else:
        yield f"{count}, with the same sizes and weights"
    if windows.skipped[0] != windows.skipped[1]:
        yield f"skipped: {windows.skipped[0]:,} → {windows.skipped[1]:,}"
    for changes in (windows.sizes, windows.weights):
        yield from (_change(change, windows.compared) for change in changes[:MOST])
        if len(changes) > MOST:
            yield f"and {len(changes) - MOST} other changes like these"
    was, now = windows.items
    if was != now:
        yield f"items of a window (median): {_number(was)} → {_number(now)}"


def _change(change: Change, compared: int) -> str:
    often = out_of(change.windows, compared, "window")
    since = "" if change.windows == compared else f", first in step {change.step:,}"
    return f"{change.before} → {change.after} in {often}{since}"


# Numbers ------------------------------------------------------------------------------------


def _measures(comparison: Comparison, terminal: Terminal) -> Iterator[Line]:
    if not comparison.measures:
        yield (("Norms: ", "heading"), "not measured in either")
        return
    ranks = comparison.before.verdict.ranks > 1
    yield (("Norms", "heading"), " (medians)")
    yield from rows([_measure(measures, ranks) for measures in comparison.measures])


def _measure(measures: Measures, ranks: bool) -> Line:
    of = visible(measures.optimizer) + (f", rank {measures.rank}" if ranks else "")
    numbers = f"{_number(measures.before)} → {_number(measures.after)}"
    return (of, "title"), measures.name, numbers, (_course(measures), "dim")


def _course(measures: Measures) -> str:
    if not measures.compared:
        return "no step in common"
    if measures.first is None:
        return f"the same to the last bit in {counted(measures.compared, 'step')}"
    said = f"other numbers from step {measures.first:,} on"
    if measures.largest is not None and measures.ratio is not None:
        furthest = f"{_number(measures.largest)} in step {measures.largest_step:,}"
        said += f"; ratio {_number(measures.ratio)}, at its furthest {furthest}"
    return said


def _tallies(comparison: Comparison, terminal: Terminal) -> Iterator[Line]:
    sides: Sequence[Verdict] = comparison.before.verdict, comparison.after.verdict
    tallied = [(word, *(getattr(v.tally, key) for v in sides)) for key, word in TALLIED.items()]
    told: list[Line] = [
        (word, f"{was:,}", f"{now:,}", _delta(now - was))
        for word, was, now in tallied
        if was or now
    ]
    if not told:
        yield (("Tally: ", "heading"), "nothing happened in either")
        return
    heading = ("Tally", "heading"), ("before", "dim"), ("after", "dim"), ""
    yield from rows([heading, *told], indent=0, hang=2, right=(1, 2, 3))


def _delta(n: int) -> tuple[str, str]:
    return (f"{n:+,}" if n else "", "dim")


def _settings(comparison: Comparison, terminal: Terminal) -> Iterator[Line]:
    yield (("Set-up", "heading"), "" if comparison.settings else ": the same")
    told: list[Line] = [
        (visible(name), f"{visible(was) or 'none'} → {visible(now) or 'none'}")
        for name, was, now in comparison.settings
    ]
    paces = [side.pace for side in (comparison.before, comparison.after)]
    if any(pace is not None for pace in paces):
        was, now = (_number(None if pace is None else pace * 1e3) for pace in paces)
        told.append(("a step takes", f"{now if was == now else f'{was} → {now}'} ms (median)"))
    yield from rows(told)


def _number(number: float | None) -> str:
    return "none" if number is None else f"{number:,.4g}"
