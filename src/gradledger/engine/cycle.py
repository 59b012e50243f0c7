"""The cycle of a window: micro-batches begin, deposit or fail, and the full window is spent."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from functools import partial

from gradledger.engine.closing import Closing
from gradledger.engine.company import Company
from gradledger.engine.deposits import Deposits
from gradledger.engine.interrupts import HeldBack
from gradledger.engine.parts import Parts
from gradledger.engine.places import outside
from gradledger.engine.ranks.meetings import Meetings
from gradledger.engine.together import meet
from gradledger.engine.window import MicroBatch
from gradledger.errors import MisuseError, StepperWarning
from gradledger.ledger.announcing import listeners

LONG_AGO = 100
"""Micro-batches, after which it is worth a few milliseconds to look for hooks out of sight."""


class Cycle:
    """Where a Stepper is in its window, and the only one that moves it on."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.window = parts.window
        self.meetings = parts.meetings
        self.deposits = Deposits(parts)
        self.closing = Closing(parts)
        self.deposits.updates = partial(getattr, self.closing, "updates")
        if self.meetings is not None:
            self.meetings.enrol(self.attend)
        self.company = Company()
        self.company.join(self)
        self._drawn = self.entered = 0
        """Micro-batches so far, and how often one of them came to a loss."""
        self._looked = 0
        """How often one had when the cells were last looked at closely."""

    # Turns of the loop ----------------------------------------------------------------------

    def begin_turn(self, batch: object = None, *, drawn: bool = True, last: bool = False) -> None:
        """A micro-batch begins."""
        turn, window = MicroBatch(drawn, batch), self.window
        window.turn, window.begun = turn, window.begun + 1  # in one: Ctrl-C comes between lines
        self._drawn += drawn
        if drawn and self.meetings is not None:
            self.meetings.arrange(self.window.begun)
            self.meetings.draw(last=last)
        if drawn and listeners:
            self.parts.telling.batch()

    def begin_pass(self) -> None:
        """Data is there again, and time to look for what is too slow to look for at every turn.

        Nor at every pass, where passes are short.
        """
        if self.entered - self._looked >= LONG_AGO:
            self._looked = self.entered
            self.parts.packing.cells.look_closer()
        if self.meetings is not None:
            self.meetings.begin_pass()

    def end_turn(self) -> bool:
        """The loop goes on to another; False if there was none. A full window is spent."""
        turn, self.window.turn = self.window.turn, None
        if turn is None:
            return False
        if not turn.complete:
            self.deposits.check_nobody_else(turn)
            self.withdraw()
            self.window.dropped |= self.parts.options.on_fault == "drop"
            if self.meetings is not None:
                self.meetings.stand_in()
        self._move(free=True)
        return True

    def fail_draw(self) -> None:
        """The data raised an exception: a micro-batch that failed before it began."""
        self.begin_turn()
        self.end_turn()

    def end_pass(self, *, last: bool) -> None:
        """The data has ended, and with it the window."""
        if self.meetings is not None:
            self.meetings.ended = True
            while self.meetings.turns_elsewhere():
                self._attend(self.meetings)
        self.finish(free=True)
        while self.meetings is not None and self.meetings.windows_elsewhere():
            self.finish(meeting=True, free=True)
        if self._drawn and not (self.entered or self.closing.updates):
            warnings.warn(
                f"the data has ended after {self._drawn} batches, and stepper.backward(loss) was "
                "never called: nothing was trained.",
                StepperWarning,
                stacklevel=outside(),
            )
        if last:
            self.parts.telling.pass_ended()

    def _attend(self, meetings: Meetings) -> None:
        """A micro-batch that only other ranks have."""
        self.window.begun += 1
        meetings.arrange(self.window.begun)
        meetings.stand_in()
        if self.window.full:
            self.finish()

    def attend(self) -> None:
        """Others end a window for which this rank has done all that it will."""
        assert self.meetings is not None
        turn = self.window.turn
        if turn is not None and not turn.complete:
            self.withdraw()
            self.window.dropped |= self.parts.options.on_fault == "drop"
            turn.complete = turn.torn = True
        self.finish(meeting=True)
        self.meetings.arrange(self.window.begun + 1)

    def withdraw(self) -> None:
        """Something failed: empties the cells. The micro-batch may be tried again, unless that took
        an earlier loss of it away.
        """
        self.parts.ownership.clear()
        self.parts.telling.forget()
        turn = self.window.turn
        if turn is not None and turn.pending:
            turn.pending, turn.torn = False, True

    def enter_turn(self) -> MicroBatch:
        """The micro-batch that goes on now; raises MisuseError if it has had its deposit.

        Without `over`, a new one begins.
        """
        turn = self.window.turn
        if turn is not None and turn.torn and turn.drawn:
            raise MisuseError(
                "this micro-batch has failed: what its earlier losses deposited is gone, and the "
                "rest alone would be half of it. Go on with the next one."
            )
        if turn is not None and turn.drawn and turn.complete:
            raise MisuseError(
                "this micro-batch has had its backward(). If it has several losses, pass more=True "
                "with all but the last; if it has more data, let stepper.over() draw it."
            )
        if turn is None or not (turn.drawn or turn.pending):
            self.end_turn()
            self.begin_turn(drawn=False)
        self.entered += 1
        assert self.window.turn is not None
        return self.window.turn

    @property
    def meets(self) -> bool:
        """Whether the micro-batch that goes on now is deposited together with other ranks."""
        return self.meetings is not None and self.meetings.everywhere(self.window.begun)

    def complete_turn(self) -> bool:
        """The micro-batch has its deposits. A full window is spent; whether that made an update."""
        turn = self.window.turn
        assert turn is not None
        turn.complete, turn.pending = True, False
        updated = self._move()
        if self.meetings is not None:
            self.meetings.arrange(self.window.begun + 1)
        return updated

    # The end of a window ----------------------------------------------------------------------

    def flush(self) -> None:
        """Spends the window now. A micro-batch that has no loss yet is the first of the next.

        On many ranks it is left out: others may be done with theirs, and windows go by position.
        """
        turn = self.window.turn
        if turn is None or turn.complete or not turn.drawn or self.meetings is not None:
            self.end_turn()
            self.finish(meeting=True)
            return
        self.deposits.check_nobody_else(turn)
        self.withdraw()
        with HeldBack() if self.closing.closures is None else nullcontext():
            try:
                self.finish()
            finally:
                self.window.begun = 1

    @property
    def patient(self) -> bool:
        """Whether a full window can wait until others are done with its last micro-batch.

        One of a single micro-batch has no other loss to agree with; ranks meet when it is full.
        """
        return self.window.size > 1 and self.meetings is None

    def _move(self, *, free: bool = False) -> bool:
        """Its turn is over: spends the window, if it is full, and those that waited for this.

        Whether this one was updated.
        """
        window = self.window
        if self.company.several:
            before = self.closing.updates
            for each in self.company.due(self):
                each.finish(free=free)
            return self.closing.updates > before
        return window.begun >= window.size and self.finish(free=free)

    def finish(self, *, meeting: bool = False, free: bool = False) -> bool:
        """Ends the window: spends what it holds. Whether an update was made.

        `meeting`: on many ranks, others may have something to spend where this one has not. `free`:
        it has nothing to add.
        """
        window = self.window
        if self.meetings is not None and (window.begun or (meeting and self.meetings.apart)):
            self.meetings.free = free
            meet(self, self.meetings)
        return self.closing.close()
