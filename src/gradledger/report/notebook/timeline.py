"""A small timeline of the first turns, with a lane for each optimizer, as on the HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gradledger.ledger.events import Own
from gradledger.ledger.opening import Opening
from gradledger.ledger.places import Place
from gradledger.report.chronicle.story import NOBODY, Mark
from gradledger.report.chronicle.telling import Teller
from gradledger.report.counts import counted
from gradledger.report.notebook.signs import SIGNS, Sign
from gradledger.report.visible import cut, visible

MOST_MARKS = 40
"""More would not fit into the width of a cell."""
MOST_LANES = 8
STEP, LANE, TOP = 19, 34, 24
LETTER, LONGEST_NAME = 7, 24

Pins = Mapping[tuple[str, Place], int]


class Drawn(NamedTuple):
    """A mark on a lane."""

    x: float
    y: float
    sign: Sign
    colour: str
    at: str


class Window(NamedTuple):
    """A box around what one step spends."""

    x: float
    y: float
    width: float
    colour: str


class PinDrawn(NamedTuple):
    """A finding, at the place where it was first seen."""

    x: float
    number: int


class Timeline(NamedTuple):
    """Everything that the template draws."""

    width: float
    height: float
    left: float
    lanes: list[tuple[float, str]]
    windows: list[Window]
    marks: list[Drawn]
    pins: list[PinDrawn]
    signs: list[Sign]
    again: bool
    caption: str


def timeline(opening: Opening, names: Mapping[str, str], pins: Pins) -> Timeline | None:
    """The first turns, as many as fit; None if there is nothing to draw."""
    teller = Teller(opening.found.values())
    for event in opening.events:
        # Owners first: an audit that begins late meets an optimizer at its step, and what was
        # deposited before that is already the optimizer's.
        if isinstance(event, Own):
            teller.tell(-1, 0, event)
    for number, event in enumerate(opening.events):
        if not isinstance(event, Own):
            teller.tell(number, 0, event)
    whole = len(teller.turns)
    teller.end()
    turns = _fitting([teller.patterns.all[turn] for turn in teller.turns])
    if not any(turns):
        return None
    return _Drawing(teller, turns, names).drawn(opening, pins, whole)


def _fitting(turns: list[tuple[Mark, ...]]) -> list[tuple[Mark, ...]]:
    kept: list[tuple[Mark, ...]] = []
    for turn in turns:
        room = MOST_MARKS - sum(map(len, kept))
        if kept and len(turn) > room:
            break
        kept.append(turn[:room])
    return kept


class _Drawing:
    """Places the marks of some turns, from left to right."""

    def __init__(
        self, teller: Teller, turns: list[tuple[Mark, ...]], names: Mapping[str, str]
    ) -> None:
        self.teller = teller
        self.turns = turns
        used = sorted({lane for turn in turns for mark in turn for lane in mark.lanes})
        self.rows = {lane: row for row, lane in enumerate(used[:MOST_LANES])}
        told = teller.lanes(names)
        self.called = [
            cut(visible("no optimizer" if told[n].name == NOBODY else told[n].called), LONGEST_NAME)
            for n in self.rows
        ]
        self.left = 16.0 + LETTER * max(map(len, self.called), default=0)
        self.places: dict[tuple[int, int], float] = {}
        x = self.left
        for number, turn in enumerate(turns):
            for index in range(len(turn)):
                self.places[number, index] = x
                x += STEP
            x += STEP / 3
        self.width = x + STEP / 2

    def drawn(self, opening: Opening, pins: Pins, whole: int) -> Timeline:
        marks = list(self._marks())
        kinds = {mark.kind for turn in self.turns for mark in turn}
        return Timeline(
            width=self.width,
            height=TOP + LANE * max(len(self.rows), 1),
            left=self.left,
            lanes=[(self._y(row), name) for row, name in enumerate(self.called)],
            windows=list(self._windows()),
            marks=marks,
            pins=list(self._pins(opening, pins)),
            signs=[sign for kind, sign in SIGNS.items() if kind in kinds],
            again=any(mark.colour == "again" for mark in marks),
            caption=self._caption(whole),
        )

    def _y(self, row: int) -> float:
        return TOP + LANE * (row + 0.5)

    def _spends(self) -> Iterator[tuple[int, int, int, bool]]:
        """Turn, mark and lane of each step, and whether it spends something again."""
        spent = iter(self.teller.spends)
        for number, turn in enumerate(self.turns):
            for index, mark in enumerate(turn):
                if mark.kind == "spend":
                    spending = self.teller.spendings.all[next(spent)]
                    yield number, index, spending.lane, any(part.again for part in spending.parts)

    def _marks(self) -> Iterator[Drawn]:
        wrong = {(turn, index) for turn, index, _, again in self._spends() if again}
        for number, turn in enumerate(self.turns):
            for index, mark in enumerate(turn):
                sign = SIGNS[mark.kind]
                colour = "again" if (number, index) in wrong else sign.colour
                x, at = self.places[number, index], str(self.teller.sites.all[mark.site])
                for lane in mark.lanes or tuple(self.rows):
                    if lane in self.rows:
                        says = f"{sign.says}, {visible(at)}"
                        yield Drawn(x, self._y(self.rows[lane]) - 7, sign, colour, says)

    def _windows(self) -> Iterator[Window]:
        """From the first deposit in a lane since its last step to the step."""
        opened: dict[int, float] = {}
        steps = {(turn, index): (lane, again) for turn, index, lane, again in self._spends()}
        for number, turn in enumerate(self.turns):
            for index, mark in enumerate(turn):
                x = self.places[number, index]
                if mark.kind == "deposit":
                    for lane in mark.lanes:
                        opened.setdefault(lane, x)
                elif (number, index) in steps:
                    lane, again = steps[number, index]
                    start = opened.pop(lane, x)
                    if lane in self.rows:
                        y = self._y(self.rows[lane]) - LANE * 0.36
                        yield Window(start - 2, y, x - start + 18, "again" if again else "spent")

    def _pins(self, opening: Opening, pins: Pins) -> Iterator[PinDrawn]:
        taken: set[float] = set()
        for key, number in sorted(pins.items(), key=lambda one: one[1]):
            if (event := opening.found.get(key)) is not None:
                x = self.places.get(self.teller.position(event))
                if x is None:
                    continue
                while x in taken:
                    x += STEP
                taken.add(x)
                yield PinDrawn(x + 7, number)

    def _caption(self, whole: int) -> str:
        shown = len(self.turns)
        first = "The first step" if shown == 1 else f"The first {counted(shown, 'step')}"
        return f"{first}." if shown < whole else ""
