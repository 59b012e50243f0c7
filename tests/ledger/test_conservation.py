"""The book never loses, invents or doubles a deposit.

The reference keeps every single deposit of every parameter as an object of its own, with nothing
grouped and nothing counted: slow, and too simple to be wrong in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given

from gradledger.ledger import Book, Page, Place, events, page, posting
from gradledger.ledger.cells import Cell, Holding
from gradledger.ledger.events import Backward, Clear, Edit, Event, Step
from gradledger.rules import judge
from tests.examples import examples
from tests.strategies import OPENING, OWNED, event_lists


@dataclass
class Entry:
    """One deposit in one cell."""

    spends: int = 0


@dataclass
class Reference:
    """Every deposit by itself."""

    held: defaultdict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    zeros: set[str] = field(default_factory=set)
    """Cells that were cleared, and not to None."""
    made: int = 0
    spent_first: int = 0
    spent_again: int = 0
    ended_unspent: int = 0

    def post(self, event: Event) -> None:
        match event:
            case Backward():
                for cell in event.cells:
                    self.deposit(cell)
            case Edit():
                for cell in event.cells:
                    self.edit(cell, event.kind)
            case Step():
                cells = event.cells if event.cells is not None else OWNED[event.optimizer]
                for cell in cells:
                    for entry in self.held[cell]:
                        self.spent_again += entry.spends > 0
                        self.spent_first += entry.spends == 0
                        entry.spends += 1
            case Clear():
                for cell in event.cells:
                    there = self.held[cell] or cell in self.zeros
                    self.end(cell)
                    self.zeros -= {cell}
                    self.zeros |= {cell} if there and not event.to_none else set()

    def edit(self, cell: str, kind: str) -> None:
        """Writes over all there is, or into zeros, or takes what was spent up again."""
        held = self.held[cell]
        if kind == "assign" or (kind == "change" and cell in self.zeros and not held):
            self.end(cell)
            self.zeros -= {cell}
            self.deposit(cell)
        elif all(entry.spends for entry in held):
            self.held[cell] = [Entry() for _ in held]
            self.made += len(held)

    def deposit(self, cell: str) -> None:
        self.held[cell].append(Entry())
        self.made += 1

    def end(self, cell: str) -> None:
        self.ended_unspent += sum(entry.spends == 0 for entry in self.held[cell])
        self.held[cell] = []


def by_name(page: Page) -> dict[str, Cell]:
    return {name: cell for names, cell in page.groups for name in names}


def count(holdings: tuple[Holding, ...], *, fresh: bool) -> int:
    return sum(h.count for h in holdings if h.fresh == fresh)


@given(event_lists)
@examples(1_000)
def test_book_and_reference_agree_on_every_single_deposit(happened: list[Event]) -> None:
    book, reference = Book(), Reference()
    for event in [*OPENING, *happened]:
        book.post(event)
        reference.post(event)
        cells = by_name(book.page)
        for name, entries in reference.held.items():
            holdings = cells[name].holdings if name in cells else ()
            assert count(holdings, fresh=True) == sum(e.spends == 0 for e in entries)
            assert count(holdings, fresh=False) == sum(e.spends > 0 for e in entries)
    tally = book.tally
    assert tally.entries == reference.made
    assert tally.spent == reference.spent_first
    assert tally.respent == reference.spent_again
    assert tally.lost + tally.wasted == reference.ended_unspent
    still_fresh = sum(e.spends == 0 for entries in reference.held.values() for e in entries)
    assert tally.entries == tally.spent + tally.lost + tally.wasted + still_fresh


@given(event_lists)
@examples(200)
def test_every_parameter_is_in_exactly_one_group_and_no_two_groups_have_one_history(
    happened: list[Event],
) -> None:
    book = Book()
    for event in [*OPENING, *happened]:
        book.post(event)
        names = [name for names, _ in book.page.groups for name in names]
        assert len(names) == len(set(names))
        histories = [cell for _, cell in book.page.groups]
        assert len(histories) == len(set(histories))


@given(event_lists)
@examples(200)
def test_grouping_changes_neither_cells_nor_findings(happened: list[Event]) -> None:
    grouped = run(happened)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "_rejoined", one_group_per_name)
        alone = run(happened)
    assert by_name(grouped.page) == by_name(alone.page)
    assert broken_cells(grouped) == broken_cells(alone)


def run(happened: list[Event]) -> Book:
    book = Book(judge)
    for event in [*OPENING, *happened]:
        book.post(event)
    return book


def broken_cells(book: Book) -> dict[tuple[str, str], frozenset[str]]:
    return {(f.rule, str(f.at)): f.cells for f in book.findings}


def one_group_per_name(groups: list[page.Group]) -> tuple[page.Group, ...]:
    return tuple(
        sorted(
            ((frozenset({name}), cell) for names, cell in groups for name in names),
            key=lambda group: min(group[0]),
        )
    )


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda holdings, counting: list(holdings)[:1], id="loses holdings"),
        pytest.param(lambda holdings, counting: [*holdings, *holdings], id="doubles holdings"),
    ],
)
def test_the_comparison_notices_a_ledger_that_loses_or_doubles(
    broken: Callable[..., list[Holding]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not left to chance: random events may be long in coming to two deposits in one cell.
    cells = frozenset(next(iter(OWNED.values())))
    twice = [Backward(Place("train.py", line), cells) for line in (1, 2)]
    compare = test_book_and_reference_agree_on_every_single_deposit.hypothesis.inner_test  # type: ignore[attr-defined]
    compare(twice)
    monkeypatch.setattr("gradledger.ledger.cells._add_up", broken)
    with pytest.raises(AssertionError):
        compare(twice)


def test_every_event_that_changes_the_books_has_its_posting() -> None:
    kinds = {
        kind
        for kind in vars(events).values()
        if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
    }
    assert {kind.__name__ for kind in kinds - set(posting.POSTINGS)} == {"Compare", "RunEnd"}
