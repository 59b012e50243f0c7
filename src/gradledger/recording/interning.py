"""Writes repeated values once, and gives them ids."""

from __future__ import annotations

import itertools
from typing import Any, Generic, TypeVar

from gradledger.ledger.events import Event
from gradledger.ledger.places import Place
from gradledger.recording.encoding import encode_event
from gradledger.recording.text import to_sql

REMEMBERED = 1024
"""How many facts and cell sets are remembered. If a program's sets never repeat, all are forgotten
at this number, to save memory; a value that returns is written again under another id."""

T = TypeVar("T")


class Interned(Generic[T]):
    """The ids of the rows of one table."""

    def __init__(self, limit: int | None = None) -> None:
        self._ids: dict[T, int] = {}
        self._numbers = itertools.count(1)
        self._limit = limit

    def __len__(self) -> int:
        return len(self._ids)

    def get(self, thing: T) -> int | None:
        """The id of a thing that was seen before."""
        return self._ids.get(thing)

    def add(self, thing: T) -> int:
        """A new id for a new thing."""
        if self._limit is not None and len(self._ids) >= self._limit:
            self._ids.clear()
        id = self._ids[thing] = next(self._numbers)
        return id

    def forget(self) -> None:
        """Ids are never handed out twice, also after this."""
        self._ids.clear()


class Interning:
    """Ids for facts and their parts. `new` collects the rows that the file does not hold yet."""

    def __init__(self) -> None:
        self.new: dict[str, list[tuple[Any, ...]]] = {
            table: []
            for table in ("places", "cells", "cell_sets", "cell_set_members", "facts", "series")
        }
        self._places: Interned[Place] = Interned()
        self._cells: Interned[str] = Interned()
        self._cell_sets: Interned[frozenset[str]] = Interned(REMEMBERED)
        self._facts: Interned[Event] = Interned(REMEMBERED)
        self._series: Interned[tuple[str, str, str]] = Interned()

    def written(self) -> None:
        """The new rows are in the file."""
        for rows in self.new.values():
            rows.clear()

    def forget(self) -> None:
        """The new rows could not be written: no id that was given out is valid any more."""
        self.written()
        for ids in (self._places, self._cells, self._cell_sets, self._facts, self._series):
            ids.forget()

    def fact(self, event: Event) -> int:
        """The event without its moment."""
        id = self._facts.get(event)
        if id is None:
            place, payload = self.place(event.at), encode_event(event, self)
            id = self._facts.add(event)
            self.new["facts"].append((id, type(event).__name__, place, payload))
        return id

    def place(self, place: Place) -> int:
        """A place, after the places that it was reached by."""
        id = self._places.get(place)
        if id is None:
            via = None if place.via is None else self.place(place.via)
            id = self._places.add(place)
            self.new["places"].append((id, to_sql(place.path), place.line, place.column, via))
        return id

    def cells(self, cells: frozenset[str]) -> int:
        """A set of cells, with its members."""
        id = self._cell_sets.get(cells)
        if id is None:
            members = sorted(self._cell(name) for name in cells)
            id = self._cell_sets.add(cells)
            self.new["cell_sets"].append((id, len(cells)))
            self.new["cell_set_members"].extend((id, cell) for cell in members)
        return id

    def series(self, name: str, optimizer: str, cell: str) -> int:
        """What is measured, of whom."""
        id = self._series.get((name, optimizer, cell))
        if id is None:
            id = self._series.add((name, optimizer, cell))
            self.new["series"].append((id, to_sql(name), to_sql(optimizer), to_sql(cell)))
        return id

    def _cell(self, name: str) -> int:
        id = self._cells.get(name)
        if id is None:
            id = self._cells.add(name)
            self.new["cells"].append((id, to_sql(name)))
        return id
