"""The charts as tables: for whoever does not see them, and for paper."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from gradledger.ledger.outcomes import Tally
from gradledger.report.chronicle import FATES, Chronicle, Difference, differences
from gradledger.report.evidence import at
from gradledger.report.page.measures import ROWS
from gradledger.report.page.overview import left
from gradledger.report.sources import Sources
from gradledger.report.visible import visible


class Cell(NamedTuple):
    """An entry of a table, and whether it is highlighted."""

    text: str
    differs: bool = False
    code: str = ""


class Table(NamedTuple):
    """Heads and rows, all text."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int = 0


def lanes(chronicles: Sequence[Chronicle]) -> Table:
    """The timeline: what each optimizer did, rank by rank."""
    several = len(chronicles) > 1
    heads = ("rank",) * several + ("optimizer", "parameters", "deposits", "windows", "steps")
    heads += ("that spend again", "skipped", "cleared", "made at")
    rows = []
    for chronicle in chronicles:
        counts = _counts(chronicle)
        for number, lane in enumerate(chronicle.lanes):
            made_at = "" if lane.made_at is None else at(lane.made_at)
            kinds = [f"{counts[number, k]:,}" for k in ("deposit", "window", "spend", "again")]
            kinds += [f"{counts[number, k]:,}" for k in ("skip", "clear")]
            row = [str(chronicle.run.rank)] * several
            row += [visible(lane.called), f"{lane.parameters:,}", *kinds, made_at]
            rows.append(tuple(map(Cell, row)))
    return _bounded(heads, rows)


def _counts(chronicle: Chronicle) -> Counter[tuple[int, str]]:
    counts: Counter[tuple[int, str]] = Counter()
    for pattern, times in Counter(chronicle.turns).items():
        for mark in chronicle.patterns[pattern]:
            for lane in mark.lanes:
                counts[lane, mark.kind] += times
    for number, times in Counter(chronicle.spends).items():
        spending = chronicle.spendings[number]
        if any(part.again for part in spending.parts):
            counts[spending.lane, "again"] += times
        if any(not part.again for part in spending.parts):
            counts[spending.lane, "window"] += times
    return counts


def flows(chronicles: Sequence[Chronicle]) -> Table:
    """What became of each backward pass, by call site and optimizer."""
    entries: Counter[tuple[tuple[str, str], str, str]] = Counter()
    for chronicle in chronicles:
        sources = Sources(chronicle.verdict.sources)
        for flow in chronicle.flows:
            place = chronicle.sites[flow.site]
            lane = visible(chronicle.lanes[flow.lane].called)
            entries[(at(place), sources.code(place)), lane, flow.fate] += flow.entries
    rows = []
    for site, lane in dict.fromkeys((site, lane) for site, lane, _ in entries):
        numbers = (Cell(f"{entries[site, lane, fate]:,}") for fate in FATES)
        rows.append((Cell(site[0], code=site[1]), Cell(lane), *numbers))
    heads = ("backward at", "optimizer", "spent once", "spent again", "cleared", "left over")
    return _bounded(heads, rows)


def measures(chronicles: Sequence[Chronicle], name: str) -> Table:
    """Lines and layers in a few numbers each."""
    rows = []
    for chronicle in chronicles:
        for number, lane in enumerate(chronicle.lanes):
            for cell in ("", *chronicle.cells(name, number)):
                _, values = chronicle.measured(name, number, cell)
                finite = [value for value in values if math.isfinite(value)]
                if not values:
                    continue
                called = visible(lane.called) + (f": {visible(cell)}" if cell else "")
                if len(chronicles) > 1:
                    called = f"rank {chronicle.run.rank} {called}"
                told = [finite[0], median(finite), max(finite), finite[-1]] if finite else []
                cells = [f"{value:.3g}" for value in told] or ["none"] * 4
                cells.append(f"{len(values) - len(finite):,}")
                rows.append(tuple(map(Cell, [called, *cells])))
    return _bounded(("of", "first", "median", "largest", "last", "not finite"), rows)


def ranks(chronicles: Sequence[Chronicle]) -> Table | None:
    """The tallies side by side; what differs from the first rank is highlighted."""
    if len(chronicles) < 2:
        return None
    heads = ("", *(f"rank {c.run.rank}" for c in chronicles))
    told = [dict(_tallied(c)) for c in chronicles]
    rows = []
    for name, first in told[0].items():
        values = (one[name] for one in told)
        rows.append((Cell(name), *(Cell(value, differs=value != first) for value in values)))
    return Table(heads, tuple(rows))


def _tallied(chronicle: Chronicle) -> Iterator[tuple[str, str]]:
    tally: Tally = chronicle.verdict.tally
    yield "backward passes", f"{tally.backwards:,}"
    yield "windows", f"{chronicle.windows:,}"
    yield "steps", f"{tally.steps:,}"
    yield "skipped", f"{tally.skipped_steps:,}"
    yield "deposits", f"{tally.entries:,}"
    yield "spent", f"{tally.spent:,}"
    yield "spent again", f"{tally.respent:,}"
    yield "lost", f"{tally.lost:,}"
    yield "not needed", f"{tally.wasted:,}"
    yield "left unspent", f"{left(tally):,}"
    yield "findings", f"{len(chronicle.verdict.findings):,}"


def disagreements(chronicles: Sequence[Chronicle]) -> Table | None:
    """The turns in which ranks did different things."""
    found = differences(chronicles)
    if not found:
        return None
    rows = [(Cell(_turns(d)), Cell(visible(d.what))) for d in found]
    return _bounded(("turns", "what each rank did first"), rows)


def _turns(difference: Difference) -> str:
    first, last = difference.turn + 1, difference.last_turn + 1
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _bounded(heads: tuple[str, ...], rows: Sequence[tuple[Cell, ...]]) -> Table:
    return Table(heads, tuple(rows[:ROWS]), max(len(rows) - ROWS, 0))
