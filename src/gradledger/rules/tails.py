"""The tail of an epoch: a window that the end of the data cut short."""

from __future__ import annotations

from gradledger.ledger import Page
from gradledger.ledger.cells import Cell, Holding


def is_tail(page: Page, cell: Cell, holding: Holding) -> bool:
    """Was it left over at an epoch's end, in a loop that spends such windows otherwise?"""
    return bool(holding.left_over) and in_a_window(page, cell, holding)


def in_a_window(page: Page, cell: Cell, holding: Holding) -> bool:
    """Is it a deposit that a step would spend?

    A loop that steps, and never on these deposits, throws all of them away and not just a tail.
    """
    accounts = [page.account(owner) for owner in cell.owners]
    steps = any(account is not None and account.stepped for account in accounts)
    return holding.at in cell.spent_sites or not steps
