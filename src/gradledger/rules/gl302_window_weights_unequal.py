"""GL302: unequal micro-batches weigh the same, or a short window is divided by the full N."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Evidence, Law, Page
from gradledger.ledger.cells import Accumulation
from gradledger.ledger.events import Step
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """The means of a window do not add up to the mean over all its items (Law 3)."""
    for names, cell in page.spent_by(step):
        window = cell.accumulation
        if window is None or not window.regular or not window.all_means:
            continue
        sure: bool | None = True
        if any(h.deposit.weight.items_vary for h in window.holdings):
            sure = page.counting.at_least(window.batches(page.counting), 2)
            if sure is False:
                continue
            detail = "adds up means over unequal numbers of items as if they were equal"
        elif sizes := _unequal_sizes(window):
            detail = f"adds up means over {sizes} items as if they were equal"
        elif sure := _too_short(page, step.optimizer, window):
            n = window.batches(page.counting)
            detail = f"divides a window of {n} by {window.divisor:g}"
        elif sure is None:
            detail = f"may divide a shorter window by {window.divisor:g}"
        else:
            continue
        evidence = (Evidence("deposited", window.at), Evidence("spent", step.at))
        yield Breach(window.at, detail, evidence, names, sure=sure is True)


def _unequal_sizes(window: Accumulation) -> str:
    sizes = {h.deposit.weight.items for h in window.holdings}
    known = sorted(size for size in sizes if size is not None)
    if len(known) < 2 or len(window.divisors) > 1 or len(_factors(window)) > 1:
        return ""
    return f"{known[0]} to {known[-1]}" if len(known) > 2 else f"{known[0]} and {known[1]}"


def _factors(window: Accumulation) -> set[float]:
    return {h.deposit.weight.factor for h in window.holdings}


def _too_short(page: Page, optimizer: str, window: Accumulation) -> bool | None:
    """Fewer micro-batches than the divisor, although a window of that size came before."""
    account = page.account(optimizer)
    if account is None:
        return False
    if account.divisor is not None and account.divisor != window.divisor:
        return False  # by its own size, and by what else a loss is multiplied with: `0.5 * mse`
    return window.cut_short(account.window, page.counting)


RULE = Rule(
    code="GL302",
    name="window-weights-unequal",
    severity=Severity.WARNING,
    law=Law.WEIGHED,
    seen_by=SeenBy.BOTH,
    says="the micro-batches of this window do not weigh what their items are worth",
    explains=(
        "The mean of means is the mean of all items only if every micro-batch has the same "
        "number of items. A short last batch, padded sequences with different numbers of valid "
        "tokens, or a short last window that is still divided by the full N give some items "
        "more weight than others."
    ),
    why=(
        "The update is not that of the big batch. A split of 10 items into 8 and 2 gives the "
        "two items four times the weight of the others; half a window divided by N is half an "
        "update."
    ),
    fix="sum the losses over items and divide once by the window's number of items",
    symptom=(
        "accumulation and the big batch give different results, most of all with variable lengths"
    ),
    broken=broken,
    yields_to=("GL902",),
)
