"""The tail of an epoch: a window that the end of the data cut short."""

from __future__ import annotations

from gradledger.ledger import Page
from gradledger.ledger.cells import Cell, Holding


def is_tail(page: Page, cell: Cell, holding: Holding) -> bool:
    """Whether it was left over at an epoch's end, in a loop that otherwise spends such windows."""
    return bool(holding.left_over) and in_a_window(page, cell, holding)


def in_a_window(page: Page, cell: Cell, holding: Holding) -> bool:
    """Whether it is a deposit that a step would spend.

    A loop that steps, and never on these deposits, throws all of them away and not just a tail.
    """
    accounts = [page.account(owner) for owner in cell.owners]
    steps = any(account is not None and account.stepped for account in accounts)
    return holding.at in cell.spent_sites or not steps
