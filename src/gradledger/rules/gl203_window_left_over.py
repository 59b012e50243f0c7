"""GL203: the data ends in the middle of a window, and no step follows."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Evidence, Law, Page
from gradledger.ledger.cells import Cell, Holding
from gradledger.ledger.events import CellNames, Clear, EpochEnd, Event, Gone, RunEnd, Step
from gradledger.rules.evidence import also, counted, total
from gradledger.rules.rule import Rule, SeenBy, Severity
from gradledger.rules.tails import in_a_window, is_tail


def broken(page: Page, event: Event) -> Iterator[Breach]:
    """An owned cell has unspent deposits whose window can no longer be completed (Law 2)."""
    match event:
        case EpochEnd(restarts=True) | RunEnd(crashed=False) | Gone():
            for names, cell in page.among(event.cells) if isinstance(event, Gone) else page.groups:
                left = [h for h in cell.fresh if h.unspent and not h.excused]
                if isinstance(event, EpochEnd):
                    left = [h for h in left if in_a_window(page, cell, h)]
                else:
                    # A last backward that no step ever uses is a probe, not a window.
                    left = [h for h in left if h.at in cell.spent_sites]
                if cell.owners and left:
                    yield _breach(left, names, event, "ended")
        case Clear():
            for names, cell in page.among(event.cells):
                if cell.owners and (left := _left_over(page, cell)):
                    yield _breach(left, names, event, "cleared")
        case Step():
            yield from _leaked(page, event)


def _left_over(page: Page, cell: Cell) -> list[Holding]:
    return [h for h in cell.fresh if is_tail(page, cell, h) and h.unspent and not h.excused]


def _leaked(page: Page, step: Step) -> Iterator[Breach]:
    """A window holds more than the usual number of micro-batches, some from the epoch before."""
    account = page.account(step.optimizer)
    if account is None or not account.window:
        return
    for names, cell in page.spent_by(step):
        left, window = _left_over(page, cell), cell.accumulation
        if not left or window is None:
            continue
        more = page.counting.at_least(window.batches(page.counting), account.window + 1)
        if more is not False:
            yield _breach(left, names, step, "leaked into", sure=more is True)


def _breach(
    left: list[Holding], cells: CellNames, event: Event, what: str, *, sure: bool = True
) -> Breach:
    """The finding is reported at the backward; how the deposits ended is evidence."""
    detail = f"leaves {counted(total(left), 'deposit')} unspent when the data ends"
    evidence = (Evidence("deposited", left[0].at), *_end(event, what))
    return Breach(left[0].at, detail, evidence, cells, sure)


def _end(event: Event, what: str) -> tuple[Evidence, ...]:
    """Where a run was when it ended says nothing of the data: it may have been in a validation."""
    match event:
        case RunEnd():
            return (Evidence(what, None, "with the run"),)
        case Gone():
            return (Evidence(what, None, "when its parameters were deleted"),)
    return also(what, event.at)


RULE = Rule(
    code="GL203",
    name="window-left-over",
    severity=Severity.WARNING,
    law=Law.USED,
    seen_by=SeenBy.BOTH,
    says="the last gradients of an epoch are left over: no step spends their window",
    explains=(
        "A loop that steps on every Nth batch stops in the middle of a window when the number "
        "of batches isn't a multiple of N. The gradients stay in `.grad` and leak into the first "
        "window of the next epoch, or the next clear or the end of the run drops them. A "
        "counter that continues across epochs is fine: its windows span two epochs."
    ),
    why=(
        "If they leak, the first update of each epoch is too large; if they are dropped, the model "
        "never learns from some data, and it is always the end of the epoch."
    ),
    fix=(
        "step on the last batch too, `or i + 1 == len(loader)`, divided by that window's own size"
    ),
    symptom=(
        "a bump in the loss at the start of each epoch, or results that depend on the dataset's "
        "size"
    ),
    broken=broken,
    likely_on_some_paths=True,
)
