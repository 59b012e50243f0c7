"""Finds places, sets of cells and facts by their ids."""

from __future__ import annotations

import sqlite3

from gradledger.ledger.events import Event
from gradledger.ledger.places import Place
from gradledger.recording.encoding import decode_event
from gradledger.recording.text import from_sql


class Rows:
    """Reads each place and each set once. LookupError or ValueError: the file is damaged."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._places: dict[int, Place] = {}
        self._cells: dict[int, frozenset[str]] = {}

    def fact(self, id: int) -> Event:
        """An event without its moment. UnknownToThisVersion: a newer gradledger wrote it."""
        row = self._connection.execute(
            "SELECT kind, place, payload FROM facts WHERE id = ?", (id,)
        ).fetchone()
        if row is None:
            raise LookupError(f"fact {id} is missing")
        kind, place, payload = row
        return decode_event(kind, self.place(place), payload, self)

    def place(self, id: int) -> Place:
        """A place with the places that it was reached by."""
        if id not in self._places:
            row = self._connection.execute(
                'SELECT path, line, "column", via FROM places WHERE id = ?', (id,)
            ).fetchone()
            if row is None:
                raise LookupError(f"place {id} is missing")
            path, line, column, via = row
            if via is not None and via >= id:
                raise ValueError(f"place {id} was reached by a later one")
            reached_by = None if via is None else self.place(via)
            self._places[id] = Place(from_sql(path), line, column, reached_by)
        return self._places[id]

    def cells(self, id: int) -> frozenset[str]:
        """The names of a set of cells."""
        if id not in self._cells:
            size = self._connection.execute(
                "SELECT size FROM cell_sets WHERE id = ?", (id,)
            ).fetchone()
            names = self._connection.execute(
                "SELECT name FROM cell_set_members JOIN cells ON id = cell WHERE cell_set = ?",
                (id,),
            ).fetchall()
            if size != (len(names),):
                raise LookupError(f"cell set {id} is not whole")
            self._cells[id] = frozenset(from_sql(name) for (name,) in names)
        return self._cells[id]
