"""Posting an event: what each event does to a page. One function per event."""

from __future__ import annotations

from operator import itemgetter

from gradledger.ledger.cells import Cell, Deposit, Holding
from gradledger.ledger.events import (
    UNKNOWN_WEIGHT,
    Backward,
    Batch,
    Clear,
    Clip,
    Declare,
    Edit,
    EpochEnd,
    Event,
    Fault,
    Gone,
    Keep,
    Own,
    Read,
    Release,
    Replace,
    Schedule,
    Skipped,
    Step,
    Sync,
    Unscale,
    Update,
    Walk,
)
from gradledger.ledger.page import Account, Kept, Page
from gradledger.ledger.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gradledger.ledger.events import CellNames
    from gradledger.ledger.places import Place

    Change = Callable[[Holding], Holding]
    Posting = Callable[[Any, Page], Page]

POSTINGS: dict[type[Event], Posting] = {}
"""What each kind of event does."""


def post(event: Event, page: Page) -> Page:
    """The page after the event. Events that change no books (Compare, RunEnd) leave it as it is."""
    posting = POSTINGS.get(type(event))
    return page if posting is None else posting(event, page)


def _posts(kind: type[Event]) -> Callable[[Posting], Posting]:
    def register(posting: Posting) -> Posting:
        POSTINGS[kind] = posting
        return posting

    return register


@_posts(Declare)
def _(event: Declare, page: Page) -> Page:
    return page.touch(event.cells, lambda cell: replace(cell, traits=event.traits))


@_posts(Own)
def _(event: Own, page: Page) -> Page:
    if page.account(event.optimizer) is None:
        page = page.with_account(Account(event.optimizer, event.at))
    return page.touch(
        event.cells, lambda cell: replace(cell, owners=cell.owners | {event.optimizer})
    )


@_posts(Replace)
def _(event: Replace, page: Page) -> Page:
    page = page.touch(event.cells, lambda cell: replace(cell, replaced_at=event.at))
    return page.touch(event.by, lambda cell: replace(cell, stands_in=True))


@_posts(Gone)
def _(event: Gone, page: Page) -> Page:
    page = page.without(event.cells, event.optimizers)
    return _touch_fresh(page, lambda h: replace(h, awaits=h.awaits - event.optimizers))


@_posts(Backward)
def _(event: Backward, page: Page) -> Page:
    reached = frozenset(o for _, cell in page.among(event.cells) for o in cell.owners)
    owned = [cell for _, cell in page.among(event.cells) if cell.owners]
    together = all(reached <= cell.cleared_with for cell in owned)
    # A cell that was never filled is as empty as if all had been cleared in one go.
    untouched = all(cell.cleared_at is None and not cell.deposited for cell in owned)
    joint = len(reached) > 1 and (together or untouched)
    good = Deposit(event.at, event.weight, event.scaler, partial=event.partial)
    bad = replace(good, finite=False)
    for cells, deposit in ((event.cells - event.non_finite, good), (event.non_finite, bad)):
        if cells:
            page = page.touch(cells, _depositing(deposit, event, reached, page, joint=joint))
    page = _walking(page, event.walks)
    if event.retain_graph:
        page = replace(page, retained=page.retained | {event.at})
    return page


@_posts(Walk)
def _(event: Walk, page: Page) -> Page:
    return _walking(page, event.walks)


def _walking(page: Page, walks: frozenset[Place]) -> Page:
    """Somebody goes through graphs that were kept there."""
    if not walks:
        return page
    kept = tuple(
        replace(k, walked=True) if k.at in walks else k
        for k in page.kept
        if not (k.what == "loss" and k.at in walks)
    )
    rewalked = page.rewalked | page.retained & walks
    return replace(page, kept=kept, retained=page.retained - walks, rewalked=rewalked)


def _depositing(
    deposit: Deposit, event: Backward, reached: frozenset[str], page: Page, *, joint: bool
) -> Callable[[Cell], Cell]:
    def change(cell: Cell) -> Cell:
        here = [h for h in cell.holdings if h.fresh and h.at == event.at]
        new = Holding(
            deposit,
            # Deposits of one site from one batch (a loop over tasks) are one micro-batch.
            batches=0 if any(h.current for h in here) else 1,
            awaits=reached - cell.owners,
            joint=joint,
            local=event.local,
            # What was spent while this pass ran was its own.
            on_foreign=not event.continues and any(h.fresh and h.spent_by for h in cell.holdings),
        )
        held = [replace(h, current=True) if h in here else h for h in cell.holdings]
        filled = cell.mapped([*held, new], page.counting)
        return replace(filled, deposited=True, cleared_at=None, waiting=False)

    return change


@_posts(Edit)
def _(event: Edit, page: Page) -> Page:
    by_hand = Holding(Deposit(event.at, UNKNOWN_WEIGHT, by_hand=True))

    def edited(holding: Holding, alone: bool) -> Holding:
        if not holding.fresh:
            # Who works on spent gradients by hand means to use them again, unless it is the fresh
            # ones on top of them that are worked on.
            again = replace(by_hand, count=holding.count, batches=holding.batches)
            return again if alone else holding
        divisor = holding.deposit.weight.divisor
        factor = event.factor if event.kind == "scale" else None
        divisor = divisor / factor if factor and isinstance(divisor, int | float) else None
        if divisor is not None and abs(divisor - round(divisor)) > 1e-3 * divisor:
            divisor = None  # by a norm, say, and not by a number of batches
        weight = replace(holding.deposit.weight, divisor=divisor)
        deposit = replace(holding.deposit, weight=weight)
        # Who multiplies what is scaled may well unscale it.
        edited = holding.edited or not factor or holding.scaled
        return replace(holding, deposit=deposit, edited=edited, read=True, interrupted_at=None)

    def change(cell: Cell) -> Cell:
        # What is written over zeros, or added to them, is a deposit too.
        if event.kind == "assign" or (event.kind == "change" and cell.is_zeros):
            return replace(cell, holdings=(by_hand,), zeros=False, deposited=True, cleared_at=None)
        alone = not cell.fresh
        return cell.mapped((edited(h, alone) for h in cell.holdings), page.counting)

    return page.touch(event.cells, change)


@_posts(Read)
def _(event: Read, page: Page) -> Page:
    sites = {h.at for _, cell in page.among(event.cells) for h in cell.fresh}
    # Who reads a part of a backward has used it: an attack that reads the input's gradient makes
    # deposits in the model's cells that don't have to be spent.
    return _touch_fresh(page, lambda h: replace(h, read=True) if h.at in sites else h)


@_posts(Unscale)
def _(event: Unscale, page: Page) -> Page:
    page = page.with_scaler(page.scaler(event.scaler).unscaling(event.optimizer, event.at))

    def change(holding: Holding) -> Holding:
        if holding.scaled and holding.deposit.scaler == event.scaler:
            return replace(holding, unscaled_at=event.at)
        return holding

    return _touch_fresh(page, change, lambda cell: event.optimizer in cell.owners)


@_posts(Update)
def _(event: Update, page: Page) -> Page:
    updated_at = event.at if event.checks else None
    log = replace(page.scaler(event.scaler), unscaled=(), stepped=(), updated_at=updated_at)
    page = page.with_scaler(log)

    def change(holding: Holding) -> Holding:
        if holding.scaled and holding.deposit.scaler == event.scaler:
            return replace(holding, rescaled_at=event.at)
        return holding

    return _touch_fresh(page, change)


@_posts(Clip)
def _(event: Clip, page: Page) -> Page:
    if not event.changes:
        return page

    def change(cell: Cell) -> Cell:
        clipped = (replace(h, clipped=True) if h.fresh else h for h in cell.holdings)
        return cell.mapped(clipped, page.counting)

    return page.touch(event.cells, change)


@_posts(Schedule)
def _(event: Schedule, page: Page) -> Page:
    log = page.scheduler(event.scheduler, event.optimizer)
    return page.with_scheduler(replace(log, ahead=True))


@_posts(Sync)
def _(event: Sync, page: Page) -> Page:
    def change(cell: Cell) -> Cell:
        synced = (replace(h, local=False, synced=True) if h.fresh else h for h in cell.holdings)
        return cell.mapped(synced, page.counting)

    return page.touch(event.cells, change)


@_posts(Step)
def _(event: Step, page: Page) -> Page:
    spent = frozenset(name for names, _ in page.spent_by(event) for name in names)
    sites = {h.at for _, cell in page.among(spent) for h in cell.fresh}
    page = _note_step(event, page, spent)

    def spend(cell: Cell) -> Cell:
        return replace(
            cell.mapped((h.spent(event.optimizer, event.at) for h in cell.holdings), page.counting),
            spent_sites=cell.spent_sites | {h.at for h in cell.fresh},
            cleared_with=frozenset(),
            # Who updates a parameter by hand is its owner from then on.
            owners=cell.owners or frozenset({event.optimizer}),
        )

    def part_spent_elsewhere(holding: Holding) -> Holding:
        if event.optimizer not in holding.awaits:
            return holding
        return replace(
            holding,
            awaits=holding.awaits - {event.optimizer},
            spent_by=holding.spent_by | {event.optimizer},
        )

    def orphaned(cell: Cell) -> Cell:
        return replace(cell, wasted_sites=cell.wasted_sites | {h.at for h in cell.fresh} & sites)

    page = _waiting(page.touch(spent, spend))
    page = _touch_fresh(page, part_spent_elsewhere)
    return page.touch_where(lambda cell: not cell.owners and bool(cell.holdings), orphaned)


def _note_step(event: Step, page: Page, spent: frozenset[str]) -> Page:
    account = page.account(event.optimizer)
    if account is not None:
        windows = [
            (window.batches(page.counting), window.deposits(page.counting), window.one_divisor)
            for _, cell in page.among(spent)
            if (window := cell.accumulation)
            and window.regular
            # One that was cut short is no measure for the next, which may be short as well.
            and window.cut_short(account.window, page.counting) is not True
        ]
        before = account.window, account.deposits, account.divisor
        batches, deposits, divisor = max(windows, default=before, key=itemgetter(0, 1))
        account = replace(
            account,
            stepped=True,
            held_back=False,
            window=batches,
            deposits=deposits,
            divisor=divisor,
            others_since=frozenset(),
        )
        page = page.with_account(account)
    for other in page.accounts:
        if other.name != event.optimizer and not event.left_to_others:
            since = other.others_since | {event.optimizer}
            page = page.with_account(replace(other, others_since=since))
    for log in page.schedulers:
        if log.optimizer == event.optimizer:
            page = page.with_scheduler(replace(log, ahead=False))
    if event.scaler is not None:
        page = page.with_scaler(page.scaler(event.scaler).stepping(event.optimizer, event.at))
    elif page.scalers:
        # Who steps on what is scaled has left the scaler out: that is the fault, and not what
        # comes of it at the next update.
        out = {h.deposit.scaler for _, cell in page.among(spent) for h in cell.fresh if h.scaled}
        for scaler in page.scalers:
            if scaler.updated_at is not None and scaler.name in out:
                page = page.with_scaler(replace(scaler, updated_at=None))
    return replace(page, kept=tuple(replace(k, outlived_step=True) for k in page.kept))


@_posts(Skipped)
def _(event: Skipped, page: Page) -> Page:
    if event.reason == "refused":
        return page
    if event.scaler is not None:
        page = page.with_scaler(page.scaler(event.scaler).stepping(event.optimizer, event.at))
    if account := page.account(event.optimizer):
        page = page.with_account(replace(account, held_back=True))
    return _touch_fresh(
        page, lambda h: replace(h, skipped=True), lambda cell: event.optimizer in cell.owners
    )


@_posts(Clear)
def _(event: Clear, page: Page) -> Page:
    def change(cell: Cell) -> Cell:
        wasted = {h.at for h in cell.fresh if (h.spent_by or h.awaits) and not h.read}
        return replace(
            cell,
            holdings=(),
            zeros=not (event.to_none or cell.is_none),
            cleared_at=event.at,
            cleared_with=frozenset(),
            waiting=False,
            wasted_sites=cell.wasted_sites | wasted,
            interrupted_at=None,
        )

    page = _cleared_together(page.touch(event.cells, change), event)
    holders = {o for _, cell in page.groups if cell.fresh for o in cell.owners}
    # An owner that holds nothing fresh any more will not spend its part of anything.
    return _touch_fresh(page, lambda h: replace(h, awaits=h.awaits & holders))


def _cleared_together(page: Page, event: Clear) -> Page:
    """What was emptied in one go, with nothing between: by one call, or by one after the other.

    A clear further up in the text than the last one belongs to the next turn of a loop.
    """
    if len(page.accounts) < 2:
        return page

    def in_one_go(cell: Cell) -> bool:
        before = cell.cleared_at
        if before is None or cell.waiting or not cell.owners:
            return False
        return before.path != event.at.path or before.line <= event.at.line

    owners = frozenset(o for _, cell in page.groups if in_one_go(cell) for o in cell.owners)
    return page.touch_where(in_one_go, lambda cell: replace(cell, cleared_with=owners))


def _waiting(page: Page) -> Page:
    """What is empty by now was emptied some time ago."""
    return page.touch_where(
        lambda cell: bool(cell.cleared_with) and cell.cleared_at is not None and not cell.waiting,
        lambda cell: replace(cell, waiting=True),
    )


@_posts(Keep)
def _(event: Keep, page: Page) -> Page:
    if any(k.at == event.at for k in page.kept):
        return page
    new = Kept(
        event.at, event.what, walked=event.walked, unwalked=event.unwalked, holder=event.holder
    )
    kept = sorted((*page.kept, new), key=lambda k: k.at.sort_key)
    return replace(page, kept=tuple(kept))


@_posts(Release)
def _(event: Release, page: Page) -> Page:
    return replace(page, kept=tuple(k for k in page.kept if k.at != event.kept))


@_posts(Batch)
def _(event: Batch, page: Page) -> Page:
    page = _outliving(_waiting(page))
    return _touch_fresh(page, lambda h: replace(h, current=False), among=event.cells)


def _outliving(page: Page) -> Page:
    """Other data comes, and graphs that will not be walked are still there."""
    if not any(k.unwalked for k in page.kept):
        return page
    return replace(page, kept=tuple(replace(k, outlived_batch=k.unwalked) for k in page.kept))


@_posts(Fault)
def _(event: Fault, page: Page) -> Page:
    def interrupted(cell: Cell) -> Cell:
        return replace(cell, interrupted_at=event.at)

    hit = frozenset(n for names, _ in page.groups for n in names)
    if event.cells is not None:
        hit &= event.cells
    page = page.touch(hit, interrupted) if hit else page
    return _touch_fresh(page, lambda h: replace(h, interrupted_at=event.at), among=event.cells)


@_posts(EpochEnd)
def _(event: EpochEnd, page: Page) -> Page:
    if event.restarts is False:
        return page
    return _touch_fresh(
        page, lambda h: replace(h, left_over=True) if h.unspent else h, among=event.cells
    )


def _touch_fresh(
    page: Page,
    change: Change,
    chosen: Callable[[Cell], bool] = lambda cell: True,
    *,
    among: CellNames | None = None,
) -> Page:
    """Change all fresh holdings of the chosen cells (None: among all)."""

    def changed(cell: Cell) -> Cell:
        holdings = (change(h) if h.fresh else h for h in cell.holdings)
        return cell.mapped(holdings, page.counting)

    if among is None:
        return page.touch_where(lambda cell: bool(cell.fresh) and chosen(cell), changed)
    names = frozenset(n for names, cell in page.among(among) if chosen(cell) for n in names)
    return page.touch(names, changed) if names else page
