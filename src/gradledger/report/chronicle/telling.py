"""Makes a chronicle of a recording, by posting its events to a ledger again."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from gradledger.ledger.book import Book
from gradledger.ledger.events import (
    Backward,
    CellNames,
    Clear,
    Edit,
    Event,
    Gone,
    Own,
    Skipped,
    Step,
    Weight,
)
from gradledger.ledger.findings import one_per_fault
from gradledger.ledger.naming import Names, spelled
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.ledger.verdict import Verdict
from gradledger.recording import Noted, Recording
from gradledger.report.chronicle.filming import NEVER, Film, Shot
from gradledger.report.chronicle.marking import Marker
from gradledger.report.chronicle.numbering import Numbered
from gradledger.report.chronicle.spending import Ended, Spent, ended, left_over, spent
from gradledger.report.chronicle.story import (
    NOBODY,
    Chronicle,
    Flow,
    Lane,
    Mark,
    Measured,
    Part,
    Pin,
    Spending,
)
from gradledger.report.counts import counted
from gradledger.rules import YIELDS_TO
from gradledger.rules.ordering import ordered
from gradledger.rules.ranks import Testimony

MOST = 20_000
"""How many different outcomes are cached before the cache is emptied."""


def told(recording: Recording) -> Chronicle:
    """The chronicle of the whole recording."""
    names: Names = {remark.name: remark.text for remark in recording.remarks("called")}
    about = {remark.topic: remark.text for remark in recording.remarks("subject", "trouble")}
    noted = _one_per_fault(recording.findings())
    film = Film(noted[0].first_event if noted else NEVER)
    wanted = (number for one in noted for number in (one.first_event, one.last_event))
    teller = Teller(wanted, film)
    for recorded in recording.events():
        teller.tell(recorded.number, recorded.ns, recorded.event)
    teller.end()
    run, seconds = recording.run, recording.duration_ns / 1e9
    subject = about.get("subject") or _last_part(run.script)
    verdict = Verdict(
        subject,
        tuple(spelled(one.finding, names) for one in noted),
        teller.book.tally,
        teller.parameters,
        teller.book.occurrences,
        recording.sources(),
        seconds,
        trouble=about.get("trouble") or _trouble(recording),
        unseen=recording.unseen(),
    )
    return Chronicle(
        run=run,
        subject=subject,
        ended=recording.ended,
        lost=recording.lost,
        seconds=seconds,
        verdict=verdict,
        lanes=teller.lanes(names),
        sites=teller.sites.all,
        weights=teller.weights.all,
        patterns=teller.patterns.all,
        turns=teller.turns,
        times=teller.times,
        deposits=teller.deposits,
        spends=teller.spends,
        spendings=teller.spendings.all,
        film=film.shots,
        pins=tuple(teller.pin(index, one) for index, one in enumerate(noted)),
        flows=teller.flows(),
        fingerprints=recording.fingerprints(),
        measures=teller.measures(recording),
    )


def glimpse(recording: Recording) -> Testimony:
    """The verdict without reading the events: quick, however many there are."""
    names: Names = {remark.name: remark.text for remark in recording.remarks("called")}
    about = {remark.topic: remark.text for remark in recording.remarks("subject", "trouble")}
    verdict = Verdict(
        about.get("subject") or _last_part(recording.run.script),
        tuple(spelled(one.finding, names) for one in _one_per_fault(recording.findings())),
        sources=recording.sources(),
        trouble=about.get("trouble", ""),
        unseen=recording.unseen(),
    )
    return Testimony(verdict, recording.fingerprints(), whole=recording.ended)


def _one_per_fault(findings: Iterable[Noted]) -> list[Noted]:
    """As the auditor shows them: without symptoms of other findings, the worst first."""
    by_finding = {noted.finding: noted for noted in findings}
    return [by_finding[kept] for kept in ordered(one_per_fault(by_finding, YIELDS_TO))]


def _trouble(recording: Recording) -> str:
    if not recording.ended:
        return "the recording ends before the run did, which was killed or goes on"
    if recording.lost:
        return f"{counted(recording.lost, 'event')} could not be recorded"
    return ""


def _last_part(script: str) -> str:
    return script.replace("\\", "/").rsplit("/", 1)[-1] or "a run"


class _Outcome(NamedTuple):
    """The outcome of an event on a page. It keeps both alive, so that their ids stay valid."""

    page: Page
    event: Event
    mark: Mark | None
    spent: tuple[Spent, ...]
    ended: tuple[Ended, ...]


class Teller:
    """Takes events in order, and collects the parts of the chronicle."""

    def __init__(self, wanted: Iterable[int] = (), film: Film | None = None) -> None:
        self.book = Book()
        self._film = Film() if film is None else film
        self.sites = Numbered[Place]()
        self.weights = Numbered[Weight]()
        self.patterns = Numbered[tuple[Mark, ...]]()
        self.spendings = Numbered[Spending]()
        self.turns, self.times = array("L"), array("q")
        self.deposits, self.spends = array("L"), array("L")
        self._lanes = Numbered[str]()
        self._marker = Marker(self._lanes, self.sites)
        self._made_at: dict[str, Place] = {}
        self._held: dict[str, CellNames] = {}
        self._owned: set[str] = set()
        """Cells that some optimizer holds now; a new cell may reuse the name of a deleted one."""
        self.parameters = 0
        """How many parameters the optimizers have held in total."""
        self._flows: Counter[tuple[Place, str | None, str]] = Counter()
        self._outcomes: dict[tuple[int, int], _Outcome] = {}
        self._turn: list[Mark] = []
        self._opened: dict[int, int] = {}
        """For each lane with an open window, the turn in which it began."""
        self._steps: dict[int, array[int]] = {}
        """For each lane, the turns that its steps ended."""
        self._wanted = sorted(set(wanted), reverse=True)
        self._positions: dict[int, tuple[int, int]] = {}
        self._ns = 0

    # Taking events

    def tell(self, number: int, ns: int, event: Event) -> None:
        """Takes the next event."""
        outcome = self._outcome(event)
        before = self.book.page
        self.book.post(event)
        self._film.take(number, Shot(len(self.turns), event, before, self.book.page))
        for gone in outcome.ended:
            self._flows[gone.at, gone.owner, gone.fate] += gone.entries
        if isinstance(event, Own):
            self._own(event)
        elif isinstance(event, Gone):
            self._owned -= event.cells
        if outcome.mark is not None:
            self._mark(outcome.mark, event, outcome)
        while self._wanted and self._wanted[-1] <= number:
            self._positions[self._wanted.pop()] = self._here()
        self._ns = ns
        if isinstance(event, Step | Skipped):
            self._turn_ends()

    def end(self) -> None:
        """Call it after the last event."""
        if self._turn:
            self._turn_ends()
        for left in left_over(self.book.page):
            self._flows[left.at, left.owner, left.fate] += left.entries
        for at, owner, _ in self._flows:
            self.sites(at)
            self._lanes(owner or NOBODY)

    def _outcome(self, event: Event) -> _Outcome:
        page = self.book.page
        key = id(page), id(event)
        known = self._outcomes.get(key)
        if known is None:
            if len(self._outcomes) >= MOST:
                self._outcomes.clear()
            spends = spent(event, page) if isinstance(event, Step) else ()
            known = _Outcome(
                page, event, self._marker.mark(event, page), spends, (*ended(event, page),)
            )
            self._outcomes[key] = known
        return known

    def _mark(self, mark: Mark, event: Event, outcome: _Outcome) -> None:
        self._turn.append(mark)
        turn = len(self.turns)
        match event:
            case Backward():
                self.deposits.append(self.weights(event.weight))
                for lane in mark.lanes:
                    self._opened.setdefault(lane, turn)
            case Step():
                (lane,) = mark.lanes
                opened = turn - self._opened.pop(lane, turn)
                parts = tuple(Part(self.sites(s.at), *s[1:]) for s in outcome.spent)
                self.spends.append(self.spendings(Spending(lane, opened, parts)))
                self._steps.setdefault(lane, array("L")).append(turn)
            case Clear() | Edit():
                self._close(mark.lanes)

    def _close(self, lanes: tuple[int, ...]) -> None:
        """Forgets open windows that have no unspent deposit left: they were cleared."""
        names = self._lanes.all
        for lane in lanes:
            if lane in self._opened and not any(
                cell.fresh
                for _, cell in self.book.page.groups
                if names[lane] in cell.owners or (names[lane] == NOBODY and not cell.owners)
            ):
                del self._opened[lane]

    def _turn_ends(self) -> None:
        self.turns.append(self.patterns(tuple(self._turn)))
        self.times.append(self._ns)
        self._turn.clear()

    def _here(self) -> tuple[int, int]:
        """The latest mark."""
        if self._turn or not self.turns:
            return len(self.turns), max(len(self._turn) - 1, 0)
        return len(self.turns) - 1, max(len(self.patterns.all[self.turns[-1]]) - 1, 0)

    def _own(self, event: Own) -> None:
        self.parameters += len(event.cells - self._owned)
        self._owned |= event.cells
        self._lanes(event.optimizer)
        self._made_at.setdefault(event.optimizer, event.at)
        self._held[event.optimizer] = self._held.get(event.optimizer, frozenset()) | event.cells

    # Results

    def lanes(self, names: Names) -> tuple[Lane, ...]:
        """The optimizers."""
        called = {NOBODY: "no optimizer", **names}
        return tuple(
            Lane(
                name, called.get(name, name), len(self._held.get(name, ())), self._made_at.get(name)
            )
            for name in self._lanes.all
        )

    def flows(self) -> tuple[Flow, ...]:
        """From call sites to optimizers to fates, in the order of the code."""
        found = [
            Flow(self.sites(at), self._lanes(owner or NOBODY), fate, entries)
            for (at, owner, fate), entries in self._flows.items()
        ]
        sites = self.sites.all
        return tuple(sorted(found, key=lambda flow: (sites[flow.site].sort_key, *flow[1:])))

    def position(self, number: int) -> tuple[int, int]:
        """The turn of one of the `wanted` events, and its mark in that turn."""
        return self._positions.get(number, (0, 0))

    def pin(self, index: int, noted: Noted) -> Pin:
        """The place of a finding."""
        turn, mark = self.position(noted.first_event)
        last, _ = self._positions.get(noted.last_event, (turn, mark))
        return Pin(index, turn, mark, last)

    def measures(self, recording: Recording) -> dict[tuple[str, int, str], Measured]:
        """The measured series, by turn. An optimizer's steps count from 1."""
        found: dict[Any, Measured] = {}
        lanes = {name: lane for lane, name in enumerate(self._lanes.all)}
        for measure in recording.measures():
            lane = lanes.get(measure.series.optimizer)
            turns = self._steps.get(-1 if lane is None else lane)
            if lane is None or turns is None or not 1 <= measure.step <= len(turns):
                continue
            key = measure.series.name, lane, measure.series.cell
            if key not in found:
                found[key] = array("L"), array("d")
            found[key][0].append(turns[measure.step - 1])
            found[key][1].append(measure.value)
        return found
