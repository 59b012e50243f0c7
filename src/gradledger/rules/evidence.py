"""The other places of a finding, in the words that all rules share."""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.ledger import Evidence, Place
from gradledger.ledger.cells import Cell, Holding

NEVER_CLEARED = Evidence("cleared", None, "never")


def deposited(holdings: Iterable[Holding]) -> tuple[Evidence, ...]:
    """Where they were deposited, each call site once."""
    return tuple(Evidence("deposited", at) for at in _sites(h.at for h in holdings))


def spent(holdings: Iterable[Holding]) -> tuple[Evidence, ...]:
    """Where they were spent, each step once."""
    return tuple(Evidence("spent", at) for at in _sites(h.spent_at for h in holdings))


def cleared(cells: Iterable[Cell]) -> tuple[Evidence, ...]:
    """Where they were last cleared, each call site once."""
    return tuple(Evidence("cleared", at) for at in _sites(cell.cleared_at for cell in cells))


def also(what: str, at: Place | None) -> tuple[Evidence, ...]:
    """One more place, if there is one."""
    return () if at is None else (Evidence(what, at),)


def counted(n: int, thing: str) -> str:
    """`1 deposit`, `3 deposits`."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}es" if thing[-2:] == "ch" else f"{n} {thing}s"


def total(holdings: Iterable[Holding]) -> int:
    """How many deposits these are."""
    return sum(h.count for h in holdings)


def _sites(places: Iterable[Place | None]) -> list[Place]:
    return list(dict.fromkeys(p for p in places if p is not None))
