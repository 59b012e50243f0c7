"""The data that the page's script draws: names, places and numbers, without any HTML."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.report.chronicle import FATES, KINDS, Chronicle, differences, weighed
from gradledger.report.evidence import at
from gradledger.report.page import measures
from gradledger.report.page.packing import packed
from gradledger.report.sources import Sources
from gradledger.report.visible import cut, visible
from gradledger.rules import find
from gradledger.rules.ordering import severity

TIMES = 512
"""The end times of this many turns are kept; those between are interpolated."""
MOST_NUMBERS = 200_000
"""Longer lists without repetitions are left out; the page says so where they would be shown."""
MOST_SPENDINGS = 25_000
MOST_DIFFERENCES = 300
CODE = 80

_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def document(
    chronicles: Sequence[Chronicle], findings: Sequence[Finding], sources: Mapping[str, str]
) -> dict[str, Any]:
    """The whole document."""
    sites = _Sites(Sources(sources))
    weights: dict[str, int] = {}
    numbers = {(f.rule, f.at): number for number, f in enumerate(findings)}
    ranks = [_rank(c, sites, weights, numbers) for c in chronicles]
    return {
        "noun": noun(chronicles),
        "ranks": ranks,
        "flows": _flows(chronicles, findings, sites),
        "sites": sites.all,
        "weights": list(weights),
        "findings": [_finding(finding) for finding in findings],
        "differences": [
            [d.turn, d.last_turn, visible(d.what)]
            for d in differences(chronicles)[:MOST_DIFFERENCES]
        ],
        "measures": {
            curve.kind: measures.document(chronicles, curve.series) for curve in measures.CURVES
        },
    }


def embedded(document: object) -> Markup:
    """JSON that is safe inside a page: nothing in it ends a script or begins a tag."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Markup(text.translate(_UNSAFE))


def noun(chronicles: Sequence[Chronicle]) -> str:
    """With one optimizer, a turn is a step; with several, a step of any of them."""
    spending = {(c.run.rank, s.lane) for c in chronicles for s in c.spendings}
    return "step" if len(spending) <= len(chronicles) else "turn"


def leaks(chronicle: Chronicle, findings: Iterable[Finding]) -> set[tuple[Place, int]]:
    """Pairs of a call site and an optimizer that spent what was meant for another (GL102)."""
    lanes = {
        chronicle.sites[mark.site]: mark.lanes
        for pattern in chronicle.patterns
        for mark in pattern
        if mark.kind == "spend"
    }
    return {
        (finding.evidence[0].at, lane)
        for finding in findings
        if finding.rule == "GL102" and finding.evidence and finding.evidence[0].at is not None
        for lane in lanes.get(finding.at, ())
    }


class _Sites:
    """Places of all ranks, each once."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._numbers: dict[Place, int] = {}
        self.all: list[list[str]] = []

    def __call__(self, place: Place) -> int:
        if place not in self._numbers:
            self._numbers[place] = len(self.all)
            where = at(place) if place.via is None else f"{at(place)} from {at(place.via)}"
            self.all.append([where, cut(self._sources.code(place), CODE)])
        return self._numbers[place]


def _rank(
    chronicle: Chronicle,
    sites: _Sites,
    weights: dict[str, int],
    numbers: Mapping[tuple[str, Place], int],
) -> dict[str, Any]:
    site = [sites(place) for place in chronicle.sites]
    weight = [weights.setdefault(weighed(w), len(weights)) for w in chronicle.weights]
    few = len(chronicle.spendings) <= MOST_SPENDINGS
    return {
        "rank": chronicle.run.rank,
        "lanes": [[visible(lane.called), lane.parameters] for lane in chronicle.lanes],
        "patterns": [
            [[KINDS.index(mark.kind), mark.lanes, site[mark.site]] for mark in pattern]
            for pattern in chronicle.patterns
        ],
        "turns": packed(chronicle.turns),
        "deposits": _bounded([weight[w] for w in chronicle.deposits]),
        "spends": _bounded(chronicle.spends) if few else None,
        "spendings": [
            [
                s.lane,
                s.opened,
                [[site[at], n, int(again), cells] for at, n, again, cells in s.parts],
            ]
            for s in chronicle.spendings[: MOST_SPENDINGS if few else 0]
        ],
        "pins": [
            [numbers[key], pin.turn, pin.mark, pin.last_turn]
            for pin in chronicle.pins
            if (key := _key(chronicle, pin.finding)) in numbers
        ],
        "times": _times(chronicle),
    }


def _key(chronicle: Chronicle, finding: int) -> tuple[str, Place]:
    found = chronicle.verdict.findings[finding]
    return found.rule, found.at


def _bounded(numbers: Sequence[int]) -> list[int] | None:
    made = packed(numbers)
    return made if len(made) <= MOST_NUMBERS else None


def _times(chronicle: Chronicle) -> list[int]:
    """Milliseconds since the start for turns spread evenly from the first to the last."""
    last = len(chronicle.times) - 1
    kept = min(TIMES, last + 1)
    return [round(chronicle.times[n * last // max(kept - 1, 1)] / 1e6) for n in range(kept)]


def _flows(
    chronicles: Sequence[Chronicle], findings: Sequence[Finding], sites: _Sites
) -> dict[str, Any]:
    """The flows of all ranks together."""
    entries: Counter[tuple[int, str, int, bool]] = Counter()
    for chronicle in chronicles:
        leaked = leaks(chronicle, findings)
        for flow in chronicle.flows:
            place, lane = chronicle.sites[flow.site], visible(chronicle.lanes[flow.lane].called)
            leak = (place, flow.lane) in leaked and flow.fate.startswith("spent")
            entries[sites(place), lane, FATES.index(flow.fate), leak] += flow.entries
    from_sites = list(dict.fromkeys(site for site, *_ in entries))
    lanes = list(dict.fromkeys(lane for _, lane, *_ in entries))
    return {
        "sites": from_sites,
        "lanes": lanes,
        "links": [
            [from_sites.index(site), lanes.index(lane), fate, n, int(leak)]
            for (site, lane, fate, leak), n in entries.items()
            if n
        ],
    }


def _finding(finding: Finding) -> dict[str, str | int]:
    rule = find(finding.rule)
    return {
        "rule": rule.code,
        "severity": severity(finding).value,
        "says": rule.says.replace("`", ""),
        "where": at(finding.at),
        "count": finding.count,
    }
