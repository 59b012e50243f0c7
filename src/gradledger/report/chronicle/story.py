"""The data types of a chronicle.

Training repeats itself, and so does its chronicle: ten thousand turns follow a handful of
patterns. What differs from turn to turn (how much a deposit weighs, what a step spends) is
stored separately, in numbers.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gradledger.ledger.events import Weight
from gradledger.ledger.places import Place
from gradledger.ledger.verdict import Verdict
from gradledger.recording import RunInfo
from gradledger.report.chronicle.filming import Shot
from gradledger.rules.ranks import Fingerprints

KINDS = (
    "deposit",
    "edit",
    "unscale",
    "clip",
    "norm",
    "spend",
    "skip",
    "clear",
    "update",
    "schedule",
    "sync",
    "fault",
    "epoch",
    "end",
)
"""The kinds of marks. `norm`: the norm was computed, and nothing was clipped."""

FATES = ("spent", "spent again", "cleared", "left over")
"""What can become of a deposit. One that is spent and then cleared counts as spent."""

NOBODY = ""
"""The name of the lane for cells that no optimizer owns."""


class Lane(NamedTuple):
    """An optimizer."""

    name: str
    """In the ledger's events; `NOBODY` where cells have no owner."""
    called: str
    """The program's name for it."""
    parameters: int = 0
    """How many it has held in the whole run."""
    made_at: Place | None = None


class Mark(NamedTuple):
    """Something happened: what, to the cells of which optimizers, and where in the code.

    No lanes: it concerns the whole run (a fault, the end of an epoch).
    """

    kind: str
    lanes: tuple[int, ...]
    site: int


class Part(NamedTuple):
    """The deposits of one call site that a step spends."""

    site: int
    deposits: int
    again: bool
    """An earlier step has spent them already."""
    parameters: int


class Spending(NamedTuple):
    """What a step spends."""

    lane: int
    opened: int
    """How many turns before this one the window began: 0 where in the same turn."""
    parts: tuple[Part, ...]


class Pin(NamedTuple):
    """Where a finding was seen first, and in which turn last."""

    finding: int
    turn: int
    mark: int
    last_turn: int


class Flow(NamedTuple):
    """How many entries (a deposit in one cell) went from a call site to an optimizer, and on."""

    site: int
    lane: int
    fate: str
    entries: int


Measured = tuple["array[int]", "array[float]"]
"""The turns, and a number for each."""


@dataclass(frozen=True, slots=True)
class Chronicle:
    """One process of a run, in turns.

    A turn is all that happens up to and including one step, or skipped step, of any optimizer.
    The last one may end without.
    """

    run: RunInfo
    subject: str
    ended: bool
    """True if the run has ended. Otherwise it was cut off, or is still going on."""
    lost: int
    """How many events could not be recorded."""
    seconds: float
    verdict: Verdict
    """Of this process alone."""
    lanes: tuple[Lane, ...]
    """In the order in which the optimizers were made."""
    sites: tuple[Place, ...]
    """All places where something happened."""
    weights: tuple[Weight, ...]
    patterns: tuple[tuple[Mark, ...], ...]
    turns: array[int]
    """For each turn, its pattern."""
    times: array[int]
    """For each turn, when it ended, in nanoseconds since the start."""
    deposits: array[int]
    """For each deposit mark, in the order of the run: its weight."""
    spends: array[int]
    """For each spend mark, in the order of the run: its spending."""
    spendings: tuple[Spending, ...]
    pins: tuple[Pin, ...]
    flows: tuple[Flow, ...]
    film: tuple[Shot, ...] = ()
    """The events around the first finding, or the first ones, for the player."""
    fingerprints: Fingerprints = field(default_factory=list)
    """Fingerprints of the replicas' parameters after some steps."""
    measures: Mapping[tuple[str, int, str], Measured] = field(default_factory=dict)
    """By name, lane and cell."""

    def measured(self, name: str, lane: int, cell: str = "") -> Measured:
        """The turns in which something was measured, and the values. No cell: all together."""
        return self.measures.get((name, lane, cell)) or (array("L"), array("d"))

    def cells(self, name: str, lane: int) -> tuple[str, ...]:
        """The parameters that were measured, in the order of their names."""
        found = (cell for series, of, cell in self.measures if (series, of) == (name, lane))
        return tuple(sorted(filter(None, found), key=_counting))

    @property
    def windows(self) -> int:
        """How many windows were spent: steps that had something new to spend."""
        fresh = [any(not part.again for part in s.parts) for s in self.spendings]
        return sum(fresh[spending] for spending in self.spends)


def _counting(name: str) -> list[tuple[int, str]]:
    """layers.2 comes before layers.10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in name.split(".")]
