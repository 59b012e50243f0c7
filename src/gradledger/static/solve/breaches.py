"""What was met in a program: which events broke a law, on which paths, in which rounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradledger.ledger import Breach, Place
from gradledger.ledger.events import Event, Schedule
from gradledger.static.solve.paths import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Extent = Literal["all", "some", "none"]

Visit = tuple[str | int, ...]
"""Where in the program, and in each loop around it: the first round, or a later one."""

Fault = tuple[str, Place]
"""A rule, and the place that its finding would stand at."""


class Breaches:
    """What each event met on every path, and which of that broke a law."""

    def __init__(self) -> None:
        self.met: defaultdict[Visit, set[Path]] = defaultdict(set)
        """All the paths on which each event was met."""
        self.broken: defaultdict[Visit, defaultdict[Fault, set[Path]]] = defaultdict(
            lambda: defaultdict(set)
        )
        """Those on which it surely broke a law; none where a saturated count leaves that open."""
        self.first_breach: dict[Fault, Breach] = {}
        self.schedules: dict[Visit, Schedule] = {}
        """Where schedules move."""
        self.stepped: set[str] = set()
        """Facts that tell that a path has come through a step before."""
        self.last_rounds: set[str] = set()
        """Facts that tell whether it is the last round of a loop."""
        self.window_ends: set[str] = set()
        """Facts that tell whether it is the last micro-batch of a window."""
        self._events: dict[Visit, Event] = {}
        """What was judged to break a law, and where."""

    @property
    def any_broken(self) -> bool:
        """True if a law is broken on some path, or may be."""
        return bool(self.first_breach)

    def extents(self) -> dict[Visit, dict[Fault, Extent]]:
        """For each event and round: is the law broken on all paths that meet it, some, or none?"""
        return {
            visit: {
                fault: "all" if on == self.met[visit] else "some" if on else "none"
                for fault, on in faults.items()
            }
            for visit, faults in self.broken.items()
        }

    def met_by(self, fault: Fault) -> Iterator[tuple[Event, Path]]:
        """Each path on which the events were met of which some broke this rule, at this place."""
        for visit, faults in self.broken.items():
            if fault in faults:
                yield from ((self._events[visit], path) for path in self.met[visit])
