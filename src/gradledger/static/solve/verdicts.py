"""What was met in a program, and what follows: what is certainly broken, and what possibly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from gradledger.ledger import Breach, Certainty, Finding, Place, one_per_fault
from gradledger.ledger.events import Event, Schedule
from gradledger.static.solve.paths import Path

ABSENT = frozenset({"GL202", "GL204", "GL501", "GL503", "GL504"})
"""Rules about something that did not happen: with an option, it may have happened elsewhere."""

Visit = tuple[str | int, ...]
"""Where in the program, and in each loop around it: the first round, or a later one."""

Fault = tuple[str, Place]
"""A rule, and the place that its finding would stand at."""


class Verdicts:
    """What each event met on every path, and which of that broke a law."""

    def __init__(self) -> None:
        self.met: defaultdict[Visit, set[Path]] = defaultdict(set)
        """All the paths on which each event was met."""
        self._sure: defaultdict[Visit, defaultdict[Fault, set[Path]]] = defaultdict(
            lambda: defaultdict(set)
        )
        self._first_breach: dict[Fault, Breach] = {}
        self._events: dict[Visit, Event] = {}
        """What was judged to break a law, and where."""
        self._schedules: dict[Visit, Schedule] = {}
        """Where schedules move."""
        self._stepped: set[str] = set()
        """Facts that tell that a path has come through a step before."""
        self._last_rounds: set[str] = set()
        """Facts that tell whether it is the last round of a loop."""
        self._window_ends: set[str] = set()
        """Facts that tell whether it is the last micro-batch of a window."""

    @property
    def any_broken(self) -> bool:
        """Is there any finding?"""
        return bool(self._first_breach)

    def verdicts(
        self, options: Collection[str] | None = None
    ) -> dict[Visit, dict[Fault, Certainty]]:
        """For each event and round: what is certainly broken there, and what possibly.

        Without options, certain is what is broken each time. `options` are conditions that hold for
        a whole run: what is broken whenever one of them has some answer is certain too, for those
        who chose it; and a step that is broken each time but the first, or a schedule that is the
        first time.
        """
        return {
            visit: {
                fault: "certain"
                if self._certain(sure, self.met[visit], self._grounds(fault[0], options))
                or (options is not None and self._at_first(fault))
                or (options is not None and self._inside_windows(fault, sure, self.met[visit]))
                else "possible"
                for fault, sure in faults.items()
            }
            for visit, faults in self._sure.items()
        }

    def _grounds(self, rule: str, options: Collection[str] | None) -> Collection[str]:
        """What a verdict may depend on and still be certain."""
        if options is None:
            return ()
        if rule in ("GL101", "GL102", "GL403"):
            # The first step is innocent: what counts is whether the next one can be.
            return {*options, *self._stepped}
        if rule == "GL504":
            # In the last round everything may be made up for: what counts are those before it.
            return self._last_rounds
        return () if rule in ABSENT else options

    def _at_first(self, fault: Fault) -> bool:
        """Of a schedule: is it too early on every path, whenever it moves for the first time?"""
        firsts = [
            # To look a visit up by its key would add it to what is being gone through.
            visit in self._sure and path in self._sure[visit].get(fault, ())
            for visit, event in self._schedules.items()
            if fault == ("GL503", event.at)
            for path in self.met[visit]
            if all(log.name != event.scheduler for log in path[0].schedulers)
        ]
        return bool(firsts) and all(firsts)

    def _inside_windows(self, fault: Fault, broken: set[Path], met: set[Path]) -> bool:
        """Of a schedule: is it out of step wherever neither a window ends, nor the data does?"""
        if fault[0] != "GL504" or not broken or not self._window_ends:
            return False
        ends = {(name, False) for name in self._window_ends}
        last = {(name, True) for name in self._last_rounds}
        inside = [p for p in met if not ends.isdisjoint(p[1]) and last.isdisjoint(p[1])]
        return bool(inside) and all(path in broken for path in inside)

    def _certain(self, broken: set[Path], met: set[Path], options: Collection[str]) -> bool:
        if broken == met:
            return True
        if not broken or not options:
            return False
        chosen = {fact for _, facts in broken for fact in facts if fact[0] in options}
        return any(all(path in broken for path in met if fact in path[1]) for fact in chosen)

    def met_by(self, fault: Fault) -> Iterator[tuple[Event, Path]]:
        """Each path on which the events were met of which some broke this rule, at this place."""
        for visit, faults in self._sure.items():
            if fault in faults:
                yield from ((self._events[visit], path) for path in self.met[visit])

    def findings(
        self,
        yields_to: Mapping[str, frozenset[str]] | None = None,
        *,
        options: Collection[str] = frozenset(),
    ) -> tuple[Finding, ...]:
        """One per rule and place: certain, if it is certain in some round of some event."""
        best: dict[Fault, Certainty] = {}
        for faults in self.verdicts(options).values():
            for fault, certainty in faults.items():
                if best.get(fault) != "certain":
                    best[fault] = certainty
        found = []
        for (rule, at), certainty in best.items():
            breach = self._first_breach[rule, at]
            found.append(Finding(rule, at, breach.detail, certainty, breach.evidence, breach.cells))
        return one_per_fault(found, yields_to or {})
