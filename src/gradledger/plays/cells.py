"""The contents of the cells, as JSON values."""

from __future__ import annotations

from gradledger.ledger.cells import Cell, Holding
from gradledger.ledger.events import CellNames, Weight
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place

Json = dict[str, object]

NOBODY = ""
"""The lane of cells that no optimizer owns."""


def cells_on(page: Page, path: str) -> list[Json]:
    """Every group of cells with one history that a deposit has reached, by its owner."""
    return [
        {
            "lane": min(cell.owners, default=NOBODY),
            "names": sorted(names),
            "zeros": cell.zeros and not cell.holdings,
            "cleared": line_in(cell.cleared_at, path),
            "holds": [_held(holding, path) for holding in cell.holdings],
        }
        for names, cell in page.groups
        if cell.deposited or cell.owners
    ]


def fresh_and_spent(page: Page, cells: CellNames) -> tuple[int, int]:
    """The largest number of deposits that one of these cells holds, unspent and spent."""
    most = (0, 0)
    for _, cell in page.among(cells):
        most = max(most, _counts(cell))
    return most


def weight_said(weight: Weight) -> str:
    """The weight of a deposit in words: `mean, divided by 4`; empty if unknown."""
    said: list[str] = [weight.reduction] if weight.reduction else []
    if weight.divisor not in (None, 1, 1.0):
        said.append(f"divided by {weight.divisor:g}" if _is_number(weight.divisor) else "divided")
    if weight.framework_divides:
        said.append("divided by the framework")
    if weight.items is not None:
        said.append(f"{weight.items} items")
    return ", ".join(said)


def line_in(place: Place | None, path: str) -> int | None:
    """The line of a place in the file that is shown: its own, or that of a call leading to it."""
    return next((p.line for p in (place.way if place else ()) if p.path == path), None)


def _held(holding: Holding, path: str) -> Json:
    return {
        "line": line_in(holding.at, path),
        "count": holding.count,
        "weight": weight_said(holding.deposit.weight),
        "scaled": holding.scaled,
        "clipped": holding.clipped,
        "is_spent": not holding.fresh,
        "spent": line_in(holding.spent_at, path),
        "spent_by": sorted(holding.spent_by),
        "left_over": holding.left_over,
        "local": holding.local,
    }


def _counts(cell: Cell) -> tuple[int, int]:
    spent = sum(h.count for h in cell.holdings if not h.fresh)
    return sum(h.count for h in cell.holdings if h.fresh), spent


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
