"""The meetings of a Stepper: at the end of each window, ranks put together what they have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from torch import Tensor

from gradledger.engine.ranks.table import Table, Word
from gradledger.engine.sums import Sums
from gradledger.engine.window import Window
from gradledger.errors import MisuseError


class Meetings(ABC):
    """Every rank attends every meeting, whatever has become of its own micro-batches.

    Meetings follow each other in the same order on all ranks, one for each window. That alone keeps
    them together.
    """

    def __init__(self, table: Table, window: Window, sums: Sums) -> None:
        self.table = table
        self._window = window
        self._sums = sums
        self.itemless = False
        """This rank's micro-batches come without items."""
        self.ended = False
        """This rank's data has ended."""
        self.all_ended = False
        self.across: Callable[[Tensor], Tensor] | None = None
        """Adds numbers up over ranks, where each holds a part of the window."""
        self.torn: BaseException | None = None
        """What ended a backward in the middle of a meeting."""
        self._shared: dict[Tensor, Tensor] = {}
        self.cause = ""
        """What made this rank give up the last window, in words."""
        self.free = False
        """This rank has nothing to add, and may go to another Stepper's meeting first."""

    def enrol(self, attend: Callable[[], None]) -> None:
        """`attend` takes part in a meeting that only others have come for."""
        # Of use only where ranks may be at different ones.
        return

    def begin_pass(self) -> None:
        """Data is there again."""
        self.ended = self.all_ended = False

    def draw(self, *, last: bool) -> None:
        """A micro-batch was drawn, or failed to be. `last`: the data says that no other follows."""
        if self.all_ended:
            raise MisuseError(
                "the data of this rank goes on, after its length said that it had ended, and all "
                "ranks were told so. Correct what len() of it says."
            )
        self.ended = last

    apart = False
    """Ranks may be at different micro-batches, and one may have a window where another has none."""

    alike = False
    """Every rank holds the same window, whole."""
    copies = 1
    """Ranks that have the same data as this one, itself included."""

    @abstractmethod
    def everywhere(self, micro_batch: int) -> bool:
        """Whether this micro-batch of the window (1, 2, …) is deposited by `walk_together`."""

    @abstractmethod
    def arrange(self, micro_batch: int) -> None:
        """Before the forward of this micro-batch of the window."""

    @abstractmethod
    def keep_apart(self) -> None:
        """Before a forward whose backward may have to be tried again: the ranks meet after it."""

    @abstractmethod
    def walk_apart(self, losses: Sequence[Tensor], inputs: list[Tensor], *, retain: bool) -> None:
        """A backward in which nothing is sent."""

    @abstractmethod
    def walk_together(
        self, losses: Sequence[Tensor], inputs: list[Tensor], items: float, unit: float
    ) -> bool:
        """A backward that is a deposit; False if it was none, and left gradients in the cells.

        `unit`: what brings them to the scale of the window's first.
        """

    @property
    @abstractmethod
    def begun(self) -> bool:
        """The ranks are meeting: this one has sent something."""

    @abstractmethod
    def stand_in(self) -> None:
        """This rank's micro-batch failed, or is not wanted: takes part without it, where needed."""

    @abstractmethod
    def turns_elsewhere(self) -> bool:
        """This rank's data has ended. Whether others draw another micro-batch that needs it."""

    @abstractmethod
    def windows_elsewhere(self) -> bool:
        """This rank's data has ended, and its window. Whether others end another."""

    @abstractmethod
    def conclude(self) -> Word:
        """Goes to the end of the meeting. The window then holds what all have deposited."""

    unit = 1.0
    """Items that weigh 1 in the sums."""

    @property
    def shared(self) -> dict[Tensor, Tensor]:
        """The sums of all ranks, after `put_together`."""
        return self._shared

    def put_together(self) -> None:
        """In the middle of a window: its sums so far become those of all ranks."""
        word = self.conclude()
        self._shared = {p: total.clone() for p, total in self._sums.loose.items()}
        if word.dropped:
            self._shared = {}
        self._window.first_items, self._window.weight = 1.0, word.items
        self.keep(self._shared)

    def keep(self, sums: dict[Tensor, Tensor]) -> None:
        """The window goes on with these, which are of all ranks: they count once."""
        self._sums.forget()
        if not self.apart or self.table.rank == 0:
            self._sums.loose.update({p: total.clone() for p, total in sums.items()})
        if self.table.rank:
            self._window.empty()

    def take_up(self, sums: dict[Tensor, Tensor], *, unit: float, ranks: int) -> None:
        """Goes on with sums that so many ranks have put together."""
        self.keep(sums)

    def reached(self, parameters: list[Tensor]) -> list[Tensor]:
        """Those that the last backward has deposited into."""
        return [p for p in parameters if p.grad is not None]

    def word(self, items: float, reached: tuple[bool, ...] = ()) -> Word:
        """What this rank has to say. `items`: of a micro-batch that is not in the window yet."""
        window = self._window
        deposits = window.deposits + (items > 0)
        return Word(
            items=window.first_items * window.weight + items,
            deposits=deposits,
            present=int(deposits > 0),
            itemless=int(self.itemless and deposits > 0),
            dropped=int(window.dropped or self.torn is not None),
            ended=int(self.ended),
            reached=reached,
        )

    def hear(self) -> Word:
        """What all have said."""
        torn, self.torn = self.torn, None
        self.cause = ""
        if torn is not None:
            self.cause = f"{type(torn).__name__}: {torn}"
        elif self._window.dropped:
            self.cause = "a micro-batch failed there"
        word = self.table.hear()
        self.all_ended = word.ended == self.table.size
        self._window.dropped |= word.dropped > 0
        return word

    def take_over(self, totals: dict[Tensor, Tensor], word: Word, weight: float) -> None:
        """From now on the window is that of all ranks."""
        if not word.dropped:
            window = self._window
            self._sums.forget()
            self._sums.loose.update(totals)
            window.first_items, window.weight, window.deposits = 1.0, weight, word.deposits
