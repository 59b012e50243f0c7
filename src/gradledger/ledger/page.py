"""A page: all that the book knows at one moment, as one frozen value.

The auditor turns one page into the next. The checker holds a set of pages, one for each way in
which the code can have come to this point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from gradledger.ledger.cells import EXACT, Cell, Counting, Optimizers
from gradledger.ledger.events import CellNames, Step, Traits
from gradledger.ledger.places import Place
from gradledger.ledger.values import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

Group = tuple[CellNames, Cell]
"""Cells with one history, and the names of their parameters."""


class Account(Value):
    """An optimizer, as the book sees it."""

    name: str
    made_at: Place
    stepped: bool = False
    held_back: bool = False
    """Its latest step was skipped."""
    window: int = 0
    """How many micro-batches its latest accumulation had that was regular and not cut short."""
    deposits: int = 0
    """How many deposits that was."""
    divisor: float | None = None
    """What its losses were divided by, if all by the same known number."""
    others_since: Optimizers = frozenset()
    """Optimizers that have stepped since it last did."""


class ScalerLog(Value):
    """What a GradScaler has done since its latest update: for which optimizer, and where."""

    name: str
    unscaled: tuple[tuple[str, Place], ...] = ()
    stepped: tuple[tuple[str, Place], ...] = ()
    updated_at: Place | None = None
    """The latest update, where the next one is refused as long as both of these are empty."""

    def unscaling(self, optimizer: str, at: Place) -> ScalerLog:
        """The log after `unscale_`; the first place for an optimizer stays."""
        return replace(self, unscaled=_noted(self.unscaled, optimizer, at))

    def stepping(self, optimizer: str, at: Place) -> ScalerLog:
        """The log after `step`; the first place for an optimizer stays."""
        return replace(self, stepped=_noted(self.stepped, optimizer, at))


class SchedulerLog(Value):
    """A learning-rate scheduler. `ahead`: it has moved since its optimizer's latest step."""

    name: str
    optimizer: str
    ahead: bool = False


class Kept(Value):
    """A graph that was put somewhere with its tensor."""

    at: Place
    what: Literal["loss", "state"]
    outlived_step: bool = False
    walked: bool = False
    unwalked: bool = False
    """No backward will ever walk it."""
    outlived_batch: bool = False
    """Other data has come since, and nothing will walk it any more."""
    holder: str = ""
    """The variable that it was put into."""


class Page(Value):
    """The state of all books at one moment."""

    counting: Counting = EXACT
    groups: tuple[Group, ...] = ()
    accounts: tuple[Account, ...] = ()
    """In the order in which the optimizers were made."""
    scalers: tuple[ScalerLog, ...] = ()
    schedulers: tuple[SchedulerLog, ...] = ()
    kept: tuple[Kept, ...] = ()
    retained: frozenset[Place] = frozenset()
    """Backward calls that kept their graph, and whose graph has not been walked again."""
    rewalked: frozenset[Place] = frozenset()
    """Backward calls of which some kept graph was walked again."""

    # Asking

    def account(self, optimizer: str) -> Account | None:
        """The optimizer's account, if the book has seen it made."""
        return next((a for a in self.accounts if a.name == optimizer), None)

    def scaler(self, name: str) -> ScalerLog:
        """The scaler's log since its latest update."""
        return next((s for s in self.scalers if s.name == name), ScalerLog(name))

    def scheduler(self, name: str, optimizer: str) -> SchedulerLog:
        """The scheduler's log."""
        fallback = SchedulerLog(name, optimizer)
        return next((s for s in self.schedulers if s.name == name), fallback)

    def among(self, cells: CellNames) -> Iterator[Group]:
        """The groups that have a part in `cells`, each with that part."""
        for names, cell in self.groups:
            if part := names & cells:
                yield part, cell

    def besides(self, cells: CellNames) -> Iterator[Group]:
        """The groups that have a part outside `cells`, each with that part."""
        for names, cell in self.groups:
            if part := names - cells:
                yield part, cell

    def owned_by(self, optimizer: str) -> Iterator[Group]:
        """The groups in this optimizer's param groups."""
        return ((names, cell) for names, cell in self.groups if optimizer in cell.owners)

    def spent_by(self, step: Step) -> Iterator[Group]:
        """The groups that this step reads."""
        return self.owned_by(step.optimizer) if step.cells is None else self.among(step.cells)

    # Changing

    def touch(self, cells: CellNames, change: Callable[[Cell], Cell]) -> Page:
        """Change some cells: a group splits where a member departs, and rejoins its like."""
        groups: list[Group] = []
        unseen = cells
        for names, cell in self.groups:
            part = names & cells
            if not part:
                groups.append((names, cell))
                continue
            unseen -= part
            if rest := names - part:
                groups.append((rest, cell))
            groups.append((part, change(cell)))
        if unseen:
            # A leaf that no front end declared: it isn't known to be a parameter, so no guess.
            groups.append((unseen, change(Cell(Traits(parameter=False)))))
        return replace(self, groups=_rejoined(groups))

    def touch_where(self, chosen: Callable[[Cell], bool], change: Callable[[Cell], Cell]) -> Page:
        """Change all cells of which `chosen` holds."""
        if not any(chosen(cell) for _, cell in self.groups):
            return self
        groups = [(names, change(cell) if chosen(cell) else cell) for names, cell in self.groups]
        return replace(self, groups=_rejoined(groups))

    def without(self, cells: CellNames, optimizers: Optimizers) -> Page:
        """The page without these cells and accounts, and all that is noted of them."""
        kept = ((names - cells, cell) for names, cell in self.groups)
        groups = ((n, replace(c, owners=c.owners - optimizers)) for n, c in kept if n)
        scalers = (
            replace(
                log,
                unscaled=tuple(entry for entry in log.unscaled if entry[0] not in optimizers),
                stepped=tuple(entry for entry in log.stepped if entry[0] not in optimizers),
            )
            for log in self.scalers
        )
        return replace(
            self,
            groups=_rejoined(groups),
            accounts=tuple(a for a in self.accounts if a.name not in optimizers),
            scalers=tuple(scalers),
            schedulers=tuple(s for s in self.schedulers if s.optimizer not in optimizers),
        )

    def with_account(self, account: Account) -> Page:
        """The page with this account new or changed."""
        if self.account(account.name) is None:
            return replace(self, accounts=(*self.accounts, account))
        accounts = tuple(account if a.name == account.name else a for a in self.accounts)
        return replace(self, accounts=accounts)

    def with_scaler(self, log: ScalerLog) -> Page:
        """The page with this scaler's log new or changed."""
        others = tuple(s for s in self.scalers if s.name != log.name)
        return replace(self, scalers=tuple(sorted((*others, log), key=lambda s: s.name)))

    def with_scheduler(self, log: SchedulerLog) -> Page:
        """The page with this scheduler's log new or changed."""
        others = tuple(s for s in self.schedulers if s.name != log.name)
        return replace(self, schedulers=tuple(sorted((*others, log), key=lambda s: s.name)))


def _noted(
    log: tuple[tuple[str, Place], ...], optimizer: str, at: Place
) -> tuple[tuple[str, Place], ...]:
    return tuple(sorted(({optimizer: at} | dict(log)).items(), key=lambda entry: entry[0]))


def _rejoined(groups: Iterable[Group]) -> tuple[Group, ...]:
    """One group for each history, in an order that does not depend on how it came about."""
    by_history: dict[Cell, CellNames] = {}
    for names, cell in groups:
        so_far = by_history.get(cell)
        by_history[cell] = names if so_far is None else so_far | names
    joined = [(names, cell) for cell, names in by_history.items()]
    return tuple(joined) if len(joined) < 2 else tuple(sorted(joined, key=_first_name))


def _first_name(group: Group) -> str:
    return _lowest(group[0])


@lru_cache(maxsize=1024)
def _lowest(names: CellNames) -> str:
    return min(names)
