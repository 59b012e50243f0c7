"""The book: events go in, findings and tallies come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gradledger.ledger.events import NO_CELLS, Backward, Event, Gone, Step
from gradledger.ledger.findings import Breach, Finding, one_per_fault
from gradledger.ledger.outcomes import NOTHING, Judge, Outcome, Outcomes, Tally, no_rules
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace

MOST = 10_000
"""Different things that may happen before the book begins to forget what came of them."""


class Entry:
    """What came of an event on a page, and how often that happened."""

    __slots__ = ("after", "breaches", "buries", "event", "page", "tally", "then", "times")

    def __init__(self, page: Page, event: Event, outcome: Outcome) -> None:
        self.page = page
        self.event = event
        self.after, self.breaches, self.tally = outcome
        self.buries = event.cells if isinstance(event, Gone) else NO_CELLS
        """Names that other cells may have from now on."""
        self.times = 0
        self.then: Entry | None = None
        """What came next the last time: in a loop, that comes next again."""


class Book:
    """Keeps one page up to date, and every finding once per place."""

    def __init__(
        self, judge: Judge = no_rules, *, yields_to: Mapping[str, frozenset[str]] | None = None
    ) -> None:
        self.page = Page()
        self._tally = NOTHING
        self._occurrences: Counter[tuple[Place, type[Event]]] = Counter()
        self._outcomes = Outcomes(judge, most=MOST)
        self._latest = Entry(self.page, Event(Place("", 0)), Outcome(self.page, (), NOTHING))
        """Of nothing, at first."""
        self._entries: dict[tuple[int, int], Entry] = {}
        """By identity, which is quick: the very same page and event come in each iteration.
        An entry keeps both alive, so that no others can be taken for them."""
        self._yields_to = yields_to or {}
        self._findings: dict[tuple[str, Place], Finding] = {}
        self._living: dict[tuple[str, Place], set[str]] = {}
        """Of the cells of each finding, those that are not gone."""

    def post(self, event: Event) -> tuple[Finding, ...]:
        """Enter an event. Returns the findings that it added to, new or counted once more."""
        entry = self._latest.then
        if entry is None or entry.event is not event:
            entry = self._latest.then = self._entry(self.page, event)
        entry.times += 1
        self._latest = entry
        self.page = entry.after
        if entry.breaches or entry.buries:
            return self._noted(entry)
        return ()

    def judge_late(self, page: Page, event: Event, rule: str) -> tuple[Finding, ...]:
        """Look for one rule at an event of before, with what is known of it now."""
        noted: dict[Place, Finding] = {}
        for found, breach in self._outcomes.of(page, event).breaches:
            if found == rule and breach.sure:
                noted[breach.at] = self._note(rule, breach, once_more=breach.at not in noted)
        return tuple(noted.values())

    def _noted(self, entry: Entry) -> tuple[Finding, ...]:
        noted: dict[tuple[str, Place], Finding] = {}
        for rule, breach in entry.breaches:
            if breach.sure:
                key = rule, breach.at
                # Cells of several histories that one event breaks a rule for are one fault.
                noted[key] = self._note(rule, breach, once_more=key not in noted)
        if entry.buries:
            for living in self._living.values():
                living -= entry.buries
        return tuple(noted.values())

    def _entry(self, page: Page, event: Event) -> Entry:
        known = self._entries.get((id(page), id(event)))
        if known is None:
            if len(self._entries) >= MOST:
                # None that is forgotten is met again: new ones lead to new ones alone.
                self._count()
                self._entries.clear()
            outcome = self._outcomes.of(page, event)
            known = self._entries[id(page), id(event)] = Entry(page, event, outcome)
        return known

    @property
    def tally(self) -> Tally:
        """Exact counts over the run so far."""
        self._count()
        return self._tally

    @property
    def occurrences(self) -> dict[tuple[Place, type[Event]], int]:
        """How often each kind of event happened at each place."""
        self._count()
        return dict(self._occurrences)

    def _count(self) -> None:
        for entry in self._entries.values():
            if entry.times:
                counts = Tally(*(entry.times * count for count in entry.tally))
                self._tally = self._tally.plus(counts)
                if not _is_a_part(entry.event):
                    self._occurrences[entry.event.at, type(entry.event)] += entry.times
                entry.times = 0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One per fault: symptoms give way to the cause that they share a place with."""
        return one_per_fault(self._findings.values(), self._yields_to)

    def forget(self, rules: frozenset[str]) -> None:
        """What was found of these so far has turned out to be right."""
        self._findings = {key: f for key, f in self._findings.items() if f.rule not in rules}

    def _note(self, rule: str, breach: Breach, *, once_more: bool) -> Finding:
        known = self._findings.get((rule, breach.at))
        living = self._living.setdefault((rule, breach.at), set())
        new = NO_CELLS if living.issuperset(breach.cells) else breach.cells - living
        living |= new
        if known is not None:
            finding = known.again(breach) if once_more else known.joined(breach)
            if again := len(new & known.cells):
                finding = replace(finding, recurring=finding.recurring + again)
        else:
            finding = Finding(
                rule, breach.at, breach.detail, "observed", breach.evidence, breach.cells
            )
        self._findings[rule, breach.at] = finding
        return finding


def _is_a_part(event: Event) -> bool:
    """Whether it is a part of a call that is reported in parts, and not the call itself."""
    return (isinstance(event, Backward) and event.continues) or (
        isinstance(event, Step) and event.within
    )
