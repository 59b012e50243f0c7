"""A cell: what one parameter's `.grad` holds, and how that came about.

Everything here is a small frozen value. The auditor has one real cell per history; the checker has
sets of possible ones. So that those sets stay finite, nothing in a cell numbers or times events:
deposits of one kind are counted (`holding.count`), and the count may saturate (`Counting`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter

from gradledger.ledger.events import UNKNOWN_WEIGHT, Traits, Weight
from gradledger.ledger.places import Place
from gradledger.ledger.values import Value, replace

Optimizers = frozenset[str]


class Counting(Value):
    """How far to count: exactly, or up to `limit`, which then means that many or more."""

    limit: int | None = None

    def add(self, a: int, b: int) -> int:
        """The sum, as far as it is counted."""
        return a + b if self.limit is None else min(a + b, self.limit)

    def at_least(self, count: int, n: float) -> bool | None:
        """Whether the real count is at least n. None if it saturated too early to tell."""
        if count >= n:
            return True
        if self.limit is not None and count >= self.limit:
            return None
        return False


EXACT = Counting()
SATURATING = Counting(limit=2)


class Deposit(Value):
    """A kind of deposit: all those that one call site makes in one way."""

    at: Place
    weight: Weight
    scaler: str | None = None
    finite: bool = True
    partial: bool = False
    by_hand: bool = False


class Holding(Value):
    """Deposits of one kind that lie in a cell and have met the same fate so far."""

    deposit: Deposit
    count: int = 1
    batches: int = 1
    """How many different batches they come from."""
    current: bool = True
    """The latest of them comes from the batch at hand."""
    awaits: Optimizers = frozenset()
    """Other owners that hold a part of the same backward, and have neither spent nor cleared it."""
    spent_by: Optimizers = frozenset()
    """Optimizers that have spent their part of the same backward, the cell's owner among them."""
    spent_at: Place | None = None
    """Where the cell's owner spent it."""
    unscaled_at: Place | None = None
    rescaled_at: Place | None = None
    """Where the scaler's scale changed while this was still in the old one."""
    edited: bool = False
    """Changed by hand since: in what unit it is, only the code that did so knows."""
    clipped: bool = False
    read: bool = False
    left_over: bool = False
    """The epoch ended on it."""
    interrupted_at: Place | None = None
    """A fault broke the window off after this deposit."""
    skipped: bool = False
    on_foreign: bool = False
    """It came to lie on deposits that another optimizer, not the owner, had already spent."""
    joint: bool = False
    """All owners that it reached had been cleared together for it: it may be meant for each."""
    local: bool = False
    """Not yet the same on all ranks."""
    synced: bool = False

    @property
    def at(self) -> Place:
        """Where it was deposited."""
        return self.deposit.at

    @property
    def fresh(self) -> bool:
        """The cell's owner has not spent it yet."""
        return self.spent_at is None

    @property
    def unspent(self) -> bool:
        """No part of that backward has been spent."""
        return not self.spent_by

    @property
    def excused(self) -> bool:
        """To clear it unspent is right: it was read, skipped, broken off, or put there by hand."""
        return bool(self.read or self.skipped or self.interrupted_at or self.deposit.by_hand)

    @property
    def scaled(self) -> bool:
        """It still carries its scaler's factor."""
        return self.deposit.scaler is not None and self.unscaled_at is None and not self.edited

    def spent(self, optimizer: str, at: Place) -> Holding:
        """The same, spent by the cell's owner: where from and by whom is all that still matters."""
        return Holding(
            Deposit(self.at, UNKNOWN_WEIGHT),
            self.count,
            current=False,
            spent_by=self.spent_by | {optimizer},
            spent_at=self.spent_at or at,
        )


class Accumulation(Value):
    """A window whose deposits all come from one call site."""

    holdings: tuple[Holding, ...]

    @property
    def at(self) -> Place:
        """The call site."""
        return self.holdings[0].at

    @property
    def regular(self) -> bool:
        """Neither an epoch's end nor a fault fell into it."""
        return not any(h.left_over or h.interrupted_at for h in self.holdings)

    @property
    def all_means(self) -> bool:
        """Each is the gradient of a mean, divided by a known number and nothing else."""
        return all(
            w.reduction == "mean" and isinstance(w.divisor, int | float) and not w.framework_divides
            for w in (h.deposit.weight for h in self.holdings)
        )

    @property
    def divisors(self) -> frozenset[float]:
        """The numbers that its losses were divided by, as far as they are known."""
        found = (h.deposit.weight.divisor for h in self.holdings)
        return frozenset(d for d in found if isinstance(d, int | float))

    @property
    def one_divisor(self) -> float | None:
        """What all its losses were divided by, if that is one known number."""
        return next(iter(self.divisors)) if len(self.divisors) == 1 else None

    @property
    def divisor(self) -> float:
        """The largest number that one of the losses was divided by."""
        return max(self.divisors)

    def cut_short(self, usual: int, counting: Counting) -> bool | None:
        """Whether it has fewer micro-batches than its means were divided by, as a usual one has.

        None where a saturated count leaves that open.
        """
        if not self.all_means or len(self.divisors) > 1:  # where each has a weight of its own
            return False
        was_full = counting.at_least(usual, self.divisor)
        is_full = counting.at_least(self.batches(counting), self.divisor)
        if was_full is False or is_full is True:
            return False
        return True if was_full and is_full is False else None

    def batches(self, counting: Counting) -> int:
        """How many micro-batches it holds."""
        total = 0
        for holding in self.holdings:
            total = counting.add(total, holding.batches)
        return total

    def deposits(self, counting: Counting) -> int:
        """How many deposits it holds: one or more of each micro-batch."""
        total = 0
        for holding in self.holdings:
            total = counting.add(total, holding.count)
        return total


class Cell(Value):
    """What the cells of parameters with one history hold."""

    traits: Traits = Traits()
    owners: Optimizers = frozenset()
    holdings: tuple[Holding, ...] = ()
    zeros: bool = False
    """Cleared to zeros: empty, and yet not None."""
    cleared_at: Place | None = None
    """Where it was emptied, as long as it is empty."""
    cleared_with: Optimizers = frozenset()
    """Owners of all that was emptied in the same go, itself among them; kept until it is spent."""
    waiting: bool = False
    """Data has come or a step was made since it was emptied: what is emptied now is another's."""
    deposited: bool = False
    """Has ever held a deposit."""
    spent_sites: frozenset[Place] = frozenset()
    """Call sites whose deposits the owner has spent at some time."""
    wasted_sites: frozenset[Place] = frozenset()
    """Call sites whose deposits were lost here, while another owner had use for its part."""
    replaced_at: Place | None = None
    """Where the model exchanged the parameter for another."""
    stands_in: bool = False
    """Is the other that took a parameter's place."""
    interrupted_at: Place | None = None
    """A fault hit the window that this cell is in."""

    @property
    def fresh(self) -> tuple[Holding, ...]:
        """What the next step would spend for the first time."""
        return tuple(h for h in self.holdings if h.fresh)

    @property
    def is_none(self) -> bool:
        """There is no gradient at all."""
        return not self.holdings and not self.zeros

    @property
    def is_zeros(self) -> bool:
        """Cleared, and nothing was put into it since: what is written there is a deposit."""
        return self.zeros and not self.holdings

    @property
    def accumulation(self) -> Accumulation | None:
        """The fresh deposits, if they are an accumulation: all from one call site, none by hand."""
        fresh = self.fresh
        if len({h.at for h in fresh}) != 1 or any(h.deposit.by_hand for h in fresh):
            return None
        return Accumulation(fresh)

    def mapped(self, holdings: Iterable[Holding], counting: Counting) -> Cell:
        """The same cell with other holdings, like ones added up."""
        held = tuple(holdings)
        if held == self.holdings:
            return self
        return replace(self, holdings=held if len(held) < 2 else tuple(_add_up(held, counting)))


_ALL_BUT_COUNTS = itemgetter(*(f for f in Holding.fields if f not in ("count", "batches")))


def _add_up(holdings: Iterable[Holding], counting: Counting) -> Iterator[Holding]:
    """Add up holdings that differ in nothing but their counts, in order of the first of each."""
    like: dict[object, Holding] = {}
    for holding in holdings:
        kind = _ALL_BUT_COUNTS(holding.__dict__)
        so_far = like.get(kind)
        if so_far is not None:
            holding = replace(
                holding,
                count=counting.add(so_far.count, holding.count),
                batches=counting.add(so_far.batches, holding.batches),
            )
        like[kind] = holding
    yield from like.values()
