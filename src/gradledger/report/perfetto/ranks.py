"""One process of a run as a process of the trace."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from gradledger.report.chronicle import NOBODY, Chronicle, Mark, windows
from gradledger.report.labels import labels
from gradledger.report.perfetto.events import Event, Track
from gradledger.report.perfetto.lanes import OfLane, Recent
from gradledger.report.perfetto.words import Words
from gradledger.report.visible import visible

CALLED = {
    "norm": "norm taken",
    "edit": "edit by hand",
    "schedule": "scheduler step",
    "update": "scaler update",
    "epoch": "end of the data",
    "end": "end of the run",
}
"""Marks whose kind alone would not be clear."""
MEASURES = ("gradient norm", "update ratio")


class OfRank:
    """Makes the events of a chronicle."""

    def __init__(
        self, chronicle: Chronicle, *, start: int, tids: Iterator[int], arrows: Iterator[int]
    ) -> None:
        self._chronicle = chronicle
        self._labels = labels(chronicle)
        self._words = Words(chronicle)
        self._arrows = arrows
        pid = chronicle.run.rank + 1  # 0 would be the system's idle process
        self._run, self._findings, *tracks = (
            Track(pid, next(tids), start) for _ in range(2 + len(chronicle.lanes))
        )
        longest = max(
            (p.deposits for s in chronicle.spendings for p in s.parts if not p.again), default=1
        )
        made: Recent = {}
        self._lanes = [
            OfLane(track, longest=longest, owned=lane.name != NOBODY, elsewhere=made)
            for track, lane in zip(tracks, chronicle.lanes, strict=True)
        ]
        self._weights, self._windows = iter(chronicle.deposits), windows(chronicle)
        self._measured = {
            (name, lane): dict(zip(*chronicle.measured(name, lane), strict=True))
            for name in MEASURES
            for lane in range(len(chronicle.lanes))
        }
        self._pinned: dict[tuple[int, int], list[int]] = {}
        for pin in chronicle.pins:
            self._pinned.setdefault((pin.turn, pin.mark), []).append(pin.finding)

    def events(self, moments: Iterable[int]) -> Iterator[Event]:
        """All of them, those of each track in order; each mark has its moment."""
        yield from self._names()
        ns, when = 0, iter(moments)
        for turn, pattern in enumerate(self._chronicle.turns):
            for number, mark in enumerate(self._chronicle.patterns[pattern]):
                ns = next(when)
                yield from self._marked(mark, ns)
                for finding in self._pinned.get((turn, number), ()):
                    name, details = self._words.finding(finding)
                    yield self._findings.instant(name, ns, details, cat="finding")
        for lane in self._lanes:
            yield from lane.ends(max(ns, round(self._chronicle.seconds * 1e9)))

    def _names(self) -> Iterator[Event]:
        run = self._chronicle.run
        rank = f"rank {run.rank}: " if run.world_size > 1 else ""
        yield self._run.in_process(f"{rank}{visible(self._chronicle.subject)}")
        tracks = self._run, self._findings, *(lane.track for lane in self._lanes)
        for index, name in enumerate(("run", "findings", *self._labels)):
            yield tracks[index].named(name)
            yield tracks[index].placed(index)

    def _marked(self, mark: Mark, ns: int) -> Iterator[Event]:
        match mark.kind:
            case "deposit":
                yield from self._deposited(mark, ns)
            case "spend" | "skip":
                yield from self._stepped(ns)
            case kind:
                name, where = CALLED.get(kind, kind), self._words.place(mark.site)
                if not mark.lanes:
                    yield self._run.instant(name, ns, where)
                for lane in map(self._lanes.__getitem__, mark.lanes):
                    if kind == "clear":
                        lane.clear(ns)
                    elif kind == "edit":
                        lane.edit(ns, mark.site)
                    yield from lane.noted(lane.track.instant(name, ns, where))

    def _deposited(self, mark: Mark, ns: int) -> Iterator[Event]:
        details = self._words.deposit(mark.site, next(self._weights))
        arrow = next(self._arrows) if len(mark.lanes) > 1 else None
        for order, lane in enumerate(map(self._lanes.__getitem__, mark.lanes)):
            lane.deposit(ns, mark.site)
            name = f"deposit {self._words.short(mark.site)}"
            yield from lane.noted(lane.track.instant(name, ns, details))
            if arrow is not None:
                end = lane.track.follows if order else lane.track.leads
                yield from lane.noted(end(arrow, ns))

    def _stepped(self, ns: int) -> Iterator[Event]:
        window = next(self._windows)
        lane = self._lanes[window.lane]
        if window.skipped:
            details = {"step": window.number, **self._words.place(window.site)}
            yield from lane.noted(lane.track.instant("skipped step", ns, details))
            return
        yield from lane.spend(ns, window, self._words.window(window))
        for name in MEASURES:
            value = self._measured[name, window.lane].get(window.turn)
            if value is not None and math.isfinite(value):
                yield lane.track.counter(name, ns, self._labels[window.lane], value)
            elif value is not None:  # JSON has no word for it
                yield lane.track.instant(f"{name} is {value}", ns, {"step": window.number})
