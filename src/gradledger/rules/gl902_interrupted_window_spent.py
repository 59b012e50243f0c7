"""GL902: a step spends a window that an exception broke off."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.cells import Cell
from gradledger.ledger.events import Step
from gradledger.rules.evidence import also, deposited
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """A cell holds what a fault left behind, or fewer deposits than it is divided by (Law 9)."""
    for names, cell in page.spent_by(step):
        left = [h for h in cell.fresh if h.interrupted_at or h.deposit.partial]
        sure: bool | None = True
        if left:
            detail = "spends what was deposited before an exception broke the iteration off"
        else:
            left = list(cell.fresh)
            sure = _short_of_one(page, step.optimizer, cell)
            detail = "spends a window that an exception left short of a micro-batch"
        if sure is not False:
            evidence = (*deposited(left), *also("broken off", cell.interrupted_at))
            yield Breach(step.at, detail, evidence, names, sure=sure is True)


def _short_of_one(page: Page, optimizer: str, cell: Cell) -> bool | None:
    """The fault came before the window's first deposit, and its batch is missing from the sum."""
    account, window = page.account(optimizer), cell.accumulation
    if not (cell.interrupted_at and account and window and window.all_means):
        return False
    counts = (
        (account.window, window.batches(page.counting)),
        # If batches aren't known, as many passes as they are divided by were a window.
        (account.deposits, window.deposits(page.counting)),
    )
    answers = [_is_short(page, window.divisor, *count) for count in counts]
    return True if True in answers else None if None in answers else False


def _is_short(page: Page, divisor: float, before: int, now: int) -> bool | None:
    """Fewer than what each is divided by, where the window before had as many."""
    if page.counting.at_least(before, divisor) is False:
        return False
    full = page.counting.at_least(now, divisor)
    return None if full is None else not full


RULE = Rule(
    code="GL902",
    name="interrupted-window-spent",
    severity=Severity.ERROR,
    law=Law.WHOLE,
    seen_by=SeenBy.BOTH,
    says="this step spends a window that an exception broke off",
    explains=(
        "An exception in the middle of an iteration (a bad batch, out of memory, an interrupt) "
        "is caught, and the loop goes on. What was deposited so far stays in `.grad`: half a "
        "backward, one of two losses, or some of the N micro-batches that the loss is divided "
        "by. The next step spends it."
    ),
    why=(
        "A partial gradient belongs to no loss; a short window is an update of the wrong size. It "
        "happens rarely, on the worst batches, and cannot be reproduced."
    ),
    fix="clear the gradients in the except branch, and start the window again",
    symptom="rare jumps of the loss after a warning about a bad batch or out of memory",
    broken=broken,
    likely_on_some_paths=True,
)
