"""The cycle of a window: micro-batches begin, deposit or fail, and the full window is spent."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import NoReturn, Protocol, TypeAlias
from weakref import ref

import torch
from torch import Tensor
from torch.optim.lr_scheduler import LRScheduler

from gradledger.engine.company import Company
from gradledger.engine.interrupts import HeldBack
from gradledger.engine.losses import advise, note
from gradledger.engine.options import Options
from gradledger.engine.ownership import Ownership
from gradledger.engine.packing import Packing
from gradledger.engine.places import outside
from gradledger.engine.ranks.meetings import Meetings
from gradledger.engine.reentrant import hides_a_part, suspected, walk_whole
from gradledger.engine.scaling import Scaling
from gradledger.engine.skips import Skip
from gradledger.engine.spending import Closure, Spending
from gradledger.engine.sums import Sums
from gradledger.engine.telling import Telling
from gradledger.engine.together import meet, with_ranks
from gradledger.engine.unweighed import Unweighed
from gradledger.engine.walks import collect, walk
from gradledger.engine.window import MicroBatch, Window
from gradledger.errors import LossError, MisuseError, NonFiniteGradient, StepperWarning
from gradledger.ledger.announcing import listeners

Collected: TypeAlias = tuple[Sequence[Tensor], Sequence[Tensor | None]]
"""Parameters, and what a walk brought for each of them."""


class Closures(Protocol):
    """Who can compute the gradient of the open window again."""

    def closure(self) -> Closure:
        """Does so, and gives the loss."""

    def forget(self) -> None:
        """The window is over."""


LONG_AGO = 100
"""Micro-batches, after which it is worth a few milliseconds to look for hooks out of sight."""


class Cycle:
    """Where a Stepper is in its window, and the only one that moves it on."""

    def __init__(
        self,
        ownership: Ownership,
        packing: Packing,
        scaling: Scaling,
        schedulers: Sequence[LRScheduler],
        options: Options,
        join: Callable[[Window, Sums], Meetings] | None = None,
    ) -> None:
        self.ownership = ownership
        self.device = torch.device("cpu")
        self.packing = packing
        self.scaling = scaling
        self.schedulers = schedulers
        self.options = options
        self.telling = Telling(ownership, scaling, options, local=join is not None)
        self.window = Window(options.accumulate)
        self.sums = Sums(packing)
        self.spending = Spending(self.window, ownership, packing, self.sums, scaling, options)
        self.meetings = None if join is None else join(self.window, self.sums)
        """With the other ranks, where there are some."""
        if self.meetings is not None:
            self.spending.across = self.meetings.across
            self.device = ownership.parameters()[0].device  # also of a rank without a loss
            self.meetings.enrol(self.attend)
        self.closures: Closures | None = None
        """For an optimizer that evaluates the loss itself."""
        self.turn: MicroBatch | None = None
        self.company = Company()
        self.company.join(self)
        self.updates = 0
        self.skipped = 0
        self.dropped = 0
        self.last_skip: Skip | None = None
        self._last_loss: ref[Tensor] | None = None
        self._hides = False
        """The graph at hand has parts that are seen only when they walk back."""
        self._drawn = self.entered = 0
        """Micro-batches so far, and how often one of them came to a loss."""
        self._looked = 0
        """How often one had when the cells were last looked at closely."""
        self.itemless = False
        self.unweighed = Unweighed()

    # Turns of the loop ----------------------------------------------------------------------

    def begin_turn(self, batch: object = None, *, drawn: bool = True, last: bool = False) -> None:
        """A micro-batch begins."""
        self.turn = MicroBatch(drawn, batch)
        self.window.begun += 1
        self._drawn += drawn
        if drawn and self.meetings is not None:
            self.meetings.arrange(self.window.begun)
            self.meetings.draw(last=last)
        if drawn and listeners:
            self.telling.batch()

    def begin_pass(self) -> None:
        """Data is there again, and time to look for what is too slow to look for at every turn.

        Nor at every pass, where passes are short.
        """
        if self.entered - self._looked >= LONG_AGO:
            self._looked = self.entered
            self.packing.cells.look_closer()
        if self.meetings is not None:
            self.meetings.begin_pass()

    def end_turn(self) -> bool:
        """The loop goes on to another; False if there was none. A full window is spent."""
        turn, self.turn = self.turn, None
        if turn is None:
            return False
        if not turn.complete:
            self._check_nobody_else_deposited(turn)
            self.withdraw()
            self.window.dropped |= self.options.on_fault == "drop"
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
        if self._drawn and not (self.entered or self.updates):
            warnings.warn(
                f"the data has ended after {self._drawn} batches, and stepper.backward(loss) was "
                "never called: nothing was trained.",
                StepperWarning,
                stacklevel=outside(),
            )
        if last:
            self.telling.pass_ended()

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
        turn = self.turn
        if turn is not None and not turn.complete:
            self.withdraw()
            self.window.dropped |= self.options.on_fault == "drop"
            turn.complete = turn.torn = True
        self.finish(meeting=True)
        self.meetings.arrange(self.window.begun + 1)

    def withdraw(self) -> None:
        """Something failed: empties the cells. The micro-batch may be tried again, unless that took
        an earlier loss of it away.
        """
        self.ownership.clear()
        self.telling.forget()
        if self.turn is not None and self.turn.pending:
            self.turn.pending, self.turn.torn = False, True

    # Deposits ---------------------------------------------------------------------------------

    def enter_turn(self) -> MicroBatch:
        """The micro-batch that goes on now; raises MisuseError if it has had its deposit.

        Without `over`, a new one begins.
        """
        turn = self.turn
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
        assert self.turn is not None
        return self.turn

    def walk_back(
        self, loss: Tensor, *, retain_graph: bool = False, more: bool = False
    ) -> Collected | None:
        """One backward, for the owner's cells and no others. If it fails, they are empty.

        What it brings is in the cells, or it is returned. `more`: there will be something to add.
        """
        inputs = self.ready(loss)
        gradients = None
        try:
            scaled = loss if self.scaling.scaler is None else self.scaling.apply(loss)
            if self.meetings is not None:
                self.meetings.walk_apart((scaled,), list(inputs), retain=retain_graph)
            else:
                if self._hides:
                    walk_whole(scaled, inputs, retain_graph=retain_graph)
                elif not more and self._can_collect():
                    gradients = collect(scaled, inputs, retain_graph=retain_graph)
                if gradients is None and not self._hides:
                    walk(scaled, inputs, retain_graph=retain_graph)
        except BaseException as error:
            self.ownership.clear()
            advise(error)
            raise
        self._last_loss = ref(loss)
        if listeners:
            self.telling.walked_back(retain_graph=retain_graph)
        return None if gradients is None else (inputs, gradients)

    def _can_collect(self) -> bool:
        """Whether gradients may go past the cells. Those of an earlier loss wait in them."""
        turn = self.turn
        if turn is not None and turn.pending:
            return False
        return self.packing.cells.can_be_passed(begun=self.window.deposits > 0)

    @property
    def meets(self) -> bool:
        """Whether the micro-batch that goes on now is deposited together with other ranks."""
        return self.meetings is not None and self.meetings.everywhere(self.window.begun)

    def ready(self, loss: Tensor) -> tuple[Tensor, ...]:
        """What a loss may deposit into; raises if something stands against it."""
        if self._last_loss is not None and self._last_loss() is loss:
            raise MisuseError(
                "this loss has been through backward() already: it would count twice. Compute it "
                "anew, or take one of the two calls out."
            )
        if self.ownership.changed():
            self.sums.settle_all()
        cells = self.packing.cells
        cells.look()
        if cells.holder is not None and (self.turn is None or not self.turn.pending):
            self._tell_whose_gradient(cells.holder)
        if not cells.inputs:
            raise LossError("every parameter of the optimizer is frozen: nothing can be trained.")
        self._hides = (cells.hides is not False or suspected()) and self._hides_a_part(loss)
        self.device = loss.device
        return cells.inputs

    def _hides_a_part(self, loss: Tensor) -> bool:
        cells = self.packing.cells
        if cells.hides is None:
            cells.hides = hides_a_part(loss)
        if not (cells.hides or hides_a_part(loss)):
            return False
        apart = self.meetings is not None and self.meetings.apart
        if apart or self.options.release == "eager":
            where = "on many ranks" if apart else 'with release="eager"'
            raise LossError(
                "a part of this loss's graph walks back by itself (checkpoint with "
                f"use_reentrant=True does), so that {where} nobody can tell when a gradient is "
                "complete. Pass use_reentrant=False to checkpoint."
            )
        return True

    def remember(self, loss: Tensor) -> None:
        """It has walked back: a second time would be once too often."""
        self._last_loss = ref(loss)

    def complete_turn(self) -> bool:
        """The micro-batch has its deposits. A full window is spent; whether that made an update."""
        turn = self.turn
        assert turn is not None
        turn.complete, turn.pending = True, False
        updated = self._move()
        if self.meetings is not None:
            self.meetings.arrange(self.window.begun + 1)
        return updated

    def deposit(
        self, loss: Tensor, items: float | None, collected: Collected | None = None
    ) -> None:
        """Moves what was collected, or else what the cells hold, into the window."""
        window = self.window
        amount = 1.0 if items is None else items
        if items is None:
            self.unweighed.compare(self.turn, window)
        try:
            cells = self.packing.cells
            parameters, gradients = collected or (cells.all, cells.take())
            if listeners:
                pairs = zip(parameters, gradients, strict=True)
                self.telling.deposited([p for p, grad in pairs if grad is not None], items)
            weight = window.weigh(amount)
            if self.scaling.scaler is not None:
                weight *= self.scaling.correction(self.device)
            found = self.sums.add(
                parameters, gradients, weight, widen=window.size > 1, keep=collected is None
            )
            if found:
                window.losses.append((window.begun - 1, loss.detach()))
                window.add(amount)
            self.sums.changing = False
        except BaseException as error:
            if self.sums.changing:
                self._give_up_sums(error)
            self.ownership.clear()
            raise
        if not found:
            raise LossError(
                "the loss reaches no parameter of this Stepper's optimizer, so nothing was "
                "deposited. Is it another net's loss, or was the net's output detached?"
            )

    def _give_up_sums(self, error: BaseException) -> None:
        """Something failed in between: which of the sums have it can't be told any more."""
        self.sums.changing = False
        if self.window.deposits:
            self.window.dropped = True
            note(error, "It came while gradients were added up, so the whole window is dropped.")
        else:
            self.sums.forget()
            self.window.empty()

    def check_items(self, items: float | None) -> None:
        """Raises LossError where micro-batches can't be weighed against each other."""
        if self.window.deposits and (items is None) != self.itemless:
            raise LossError(
                "some micro-batches of this window came with items and some without: they can't be "
                "weighed against each other. Pass items with every backward()."
            )
        self.itemless = items is None

    def _check_nobody_else_deposited(self, turn: MicroBatch) -> None:
        """A micro-batch without a loss of its own, and gradients in the cells: an old habit."""
        if not (turn.pending or turn.torn):
            cells = self.packing.cells
            cells.look()
            if cells.holder is not None:
                self.ownership.clear()
                self._tell_whose_gradient(cells.holder)

    def _tell_whose_gradient(self, holder: Tensor) -> NoReturn:
        raise MisuseError(
            f"{self.ownership.names()[id(holder)]} holds a gradient that did not come through "
            "this Stepper. If its loss is meant to count, call stepper.backward(loss) in place "
            "of loss.backward(); if not, clear it with model.zero_grad()."
        )

    # The end of a window ----------------------------------------------------------------------

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
            before = self.updates
            for each in self.company.due(self):
                each.finish(free=free)
            return self.updates > before
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
        if window.dropped:
            self.dropped += 1
            self.telling.skipped(p for p, _ in self.sums.each())
        if not window.open:
            self.forget()
            return False
        # An optimizer that evaluates the loss can be interrupted: what it did is taken back.
        with HeldBack() if self.closures is None else nullcontext():
            try:
                skip = self._spend()
            finally:
                self.forget()
            if skip is None:
                self.count_update()
        if skip is not None:
            self._tell(skip if self.meetings is None else with_ranks(skip, self.meetings))
        return skip is None

    def _spend(self) -> Skip | None:
        if self.ownership.changed():
            self.sums.settle_all()
        held = [p for p, _ in self.sums.each()] if listeners else []
        if listeners:
            factor = 1.0 / (self.window.weight * self.scaling.unit)
            self.telling.spends(self.sums.each(), factor)
        closure = None if self.closures is None else self.closures.closure()
        skip = self.spending.spend(self.device, self.updates, closure)
        if listeners and skip is None:
            self.telling.spent(held, 1.0 / self.window.weight)
        elif listeners:
            self.telling.skipped(held)
        return skip

    def count_update(self) -> None:
        """An update was made."""
        self.updates += 1
        for scheduler in self.schedulers:
            scheduler.step()
        self.telling.scheduled(self.schedulers)
        if self.packing.stale:
            self.packing.build()

    def forget(self) -> None:
        """Empties the window."""
        self.window.restart()
        self.sums.forget()
        self.scaling.forget()
        if self.closures is not None:
            self.closures.forget()

    def drop(self) -> None:
        """Gives up what the window holds; on many ranks, all of it, when it ends."""
        if self.meetings is not None:
            self.ownership.clear()
            self.window.dropped = self.window.begun > 0
            return
        if self.window.open:
            self.dropped += 1
            self.telling.skipped(p for p, _ in self.sums.each())
        self.ownership.clear()
        if self.turn is not None:
            self.turn.complete, self.turn.pending = True, False
        self.forget()

    def _tell(self, skip: Skip) -> None:
        self.skipped += 1
        self.last_skip = skip
        if self.options.on_nonfinite == "raise":
            raise NonFiniteGradient(f"No update was made: {skip}.")
        # A scaler makes some of these on its way; without one, each is news, but not each of many.
        if not skip.scaler and self.skipped & (self.skipped - 1) == 0:
            warnings.warn(
                f"No update was made: {skip}. {self.skipped} so far; told at 1, 2, 4, 8, …",
                StepperWarning,
                stacklevel=outside(),
            )
