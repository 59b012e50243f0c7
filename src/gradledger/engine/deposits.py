"""Deposits: a loss walks back, and what that brings is added to the window, or none of it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeAlias
from weakref import ref

from torch import Tensor

from gradledger.engine.adding import AddingOnArrival
from gradledger.engine.doubts import Doubts
from gradledger.engine.group_norms import asks_for_less, may_occur
from gradledger.engine.interrupts import HeldBack
from gradledger.engine.losses import advise, note
from gradledger.engine.parts import Parts
from gradledger.engine.reentrant import hides_a_part, suspected, walk_whole
from gradledger.engine.unweighed import Unweighed
from gradledger.engine.walks import collect, walk
from gradledger.engine.window import MicroBatch
from gradledger.errors import LossError, MisuseError
from gradledger.ledger.announcing import listeners

Collected: TypeAlias = tuple[Sequence[Tensor], Sequence[Tensor | None]]
"""Parameters, and what a walk brought for each of them."""


class Deposits:
    """How losses come into the window."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._window = parts.window
        self._sums = parts.sums
        self._packing = parts.packing
        self._scaling = parts.scaling
        self._ownership = parts.ownership
        self._telling = parts.telling
        self._meetings = parts.meetings
        self._last_loss: ref[Tensor] | None = None
        self._hides = False
        """The graph at hand has parts that are seen only when they walk back."""
        self.itemless = False
        self.unweighed = Unweighed()
        self.doubts = Doubts(parts.ownership, parts.scaling, parts.options, parts.window)
        self._arriving = AddingOnArrival(parts.sums)
        self.updates: Callable[[], int] = int
        """How many updates were made."""

    def walk_back(
        self, loss: Tensor, *, retain_graph: bool = False, more: bool = False
    ) -> Collected | None:
        """One backward, for the owner's cells and no others. If it fails, they are empty.

        What it brings is in the cells, or it is returned. `more`: there will be something to add.
        """
        inputs = self.ready(loss)
        gradients = None
        try:
            scaled = loss if self._scaling.scaler is None else self._scaling.apply(loss)
            if self._meetings is not None:
                self._meetings.walk_apart((scaled,), list(inputs), retain=retain_graph)
            else:
                if self._hides:
                    walk_whole(scaled, inputs, retain_graph=retain_graph)
                elif not more and self._can_collect():
                    gradients = collect(scaled, inputs, retain_graph=retain_graph)
                if gradients is None and not self._hides:
                    walk(scaled, inputs, retain_graph=retain_graph)
        except BaseException as error:
            self._ownership.clear()
            advise(error)
            raise
        self._last_loss = ref(loss)
        if listeners:
            self._telling.walked_back(loss, retain_graph=retain_graph)
        return None if gradients is None else (inputs, gradients)

    def _can_collect(self) -> bool:
        """Whether gradients may go past the cells. Those of an earlier loss wait in them."""
        turn = self._window.turn
        if turn is not None and turn.pending:
            return False
        return self._packing.cells.can_be_passed(begun=self._window.deposits > 0)

    def ready(self, loss: Tensor) -> tuple[Tensor, ...]:
        """What a loss may deposit into; raises if something stands against it."""
        if self._last_loss is not None and self._last_loss() is loss:
            raise MisuseError(
                "this loss has been through backward() already: it would count twice. Compute it "
                "anew, or take one of the two calls out."
            )
        if self._ownership.changed():
            self._sums.settle_all()
        cells = self._packing.cells
        cells.look()
        turn = self._window.turn
        if cells.holder is not None and (turn is None or not turn.pending):
            self._tell_whose_gradient(cells.holder)
        if not cells.inputs:
            raise LossError("every parameter of the optimizer is frozen: nothing can be trained.")
        self._hides = (cells.hides is not False or suspected()) and self._hides_a_part(loss)
        if cells.group_norms is not False:
            self._hides |= self._asks_for_less(loss)
        self._parts.device = loss.device
        self.doubts.look(loss, self.updates())
        return cells.inputs

    def _hides_a_part(self, loss: Tensor) -> bool:
        cells = self._packing.cells
        if cells.hides is None:
            cells.hides = hides_a_part(loss)
        if not (cells.hides or hides_a_part(loss)):
            return False
        where = self._where_not_whole()
        if where is not None and (self._meetings is None or self._meetings.apart):
            raise LossError(
                "a part of this loss's graph walks back by itself (checkpoint with "
                f"use_reentrant=True does), so that {where} nobody can tell when a gradient is "
                "complete. Pass use_reentrant=False to checkpoint."
            )
        return True

    def _asks_for_less(self, loss: Tensor) -> bool:
        """Whether this loss has to be asked for all gradients, or torch would crash."""
        cells = self._packing.cells
        if cells.group_norms is None:
            cells.group_norms = may_occur(self._ownership.model, loss)
        if not (cells.group_norms and asks_for_less(loss, cells.inputs)):
            return False
        where = self._where_not_whole()
        if where is not None:
            raise LossError(
                "a GroupNorm in channels_last has parameters of this optimizer, and what is in "
                f"front of it has none: torch crashes there {where}. Keep the model in "
                "torch.contiguous_format."
            )
        return True

    def _where_not_whole(self) -> str | None:
        """Where a loss can't walk back as in a plain loop, if here."""
        if self._meetings is not None:
            return "on many ranks"
        return 'with release="eager"' if self._parts.options.release == "eager" else None

    def remember(self, loss: Tensor) -> None:
        """It has walked back: a second time would be once too often."""
        self._last_loss = ref(loss)

    def deposit(
        self,
        loss: Tensor,
        items: float | None,
        collected: Collected | None = None,
        *,
        last: bool = True,
    ) -> None:
        """Moves what was collected, or else what the cells hold, into the window.

        `last`: the micro-batch then is complete. Ctrl-C comes before or after all this.
        """
        if items is None:
            self.unweighed.compare(self._window.turn, self._window)
        with HeldBack():
            self._add(loss, items, collected)
            if last and self._window.turn is not None:
                self._window.turn.complete = True

    def add_on_arrival(self, loss: Tensor, items: float | None, *, retain_graph: bool) -> None:
        """One backward, whose gradients are added to the window while it goes on.

        If it fails after the first of them, the window is dropped.
        """
        inputs = self.ready(loss)
        if items is None:
            self.unweighed.compare(self._window.turn, self._window)
        amount = 1.0 if items is None else items
        try:
            scaled = self._scaling.apply(loss)
            weight = self._window.weigh(amount) * self._scaling.correction(self._parts.device)
            added = self._arriving.backward(scaled, inputs, weight, retain_graph=retain_graph)
            with HeldBack():
                if listeners:
                    self._telling.walked_back(loss, retain_graph=retain_graph)
                    self._telling.deposited(added, items)
                self._count(loss, amount, found=bool(added))
                if self._window.turn is not None:
                    self._window.turn.complete = True
        except BaseException as error:
            if self._sums.changing:
                self._give_up_sums(error)
            self._ownership.clear()
            advise(error)
            raise
        self._last_loss = ref(loss)

    def _count(self, loss: Tensor, amount: float, *, found: bool) -> None:
        """The sums have a deposit. Raises LossError if there was nothing to add."""
        self._sums.changing = False
        if not found:
            raise LossError(
                "the loss reaches no parameter of this Stepper's optimizer, so nothing was "
                "deposited. Is it another net's loss, or was the net's output detached?"
            )
        self._window.losses.append((self._window.begun - 1, loss.detach()))
        self._window.add(amount)

    def _add(self, loss: Tensor, items: float | None, collected: Collected | None) -> None:
        window = self._window
        amount = 1.0 if items is None else items
        try:
            cells = self._packing.cells
            parameters, gradients = collected or (cells.all, cells.take())
            if listeners:
                pairs = zip(parameters, gradients, strict=True)
                self._telling.deposited([p for p, grad in pairs if grad is not None], items)
            weight = window.weigh(amount)
            if self._scaling.scaler is not None:
                weight *= self._scaling.correction(self._parts.device)
            found = self._sums.add(
                parameters, gradients, weight, widen=window.size > 1, keep=collected is None
            )
            self._count(loss, amount, found=found)
        except BaseException as error:
            if self._sums.changing:
                self._give_up_sums(error)
            self._ownership.clear()
            raise

    def _give_up_sums(self, error: BaseException) -> None:
        """Something failed in between: which of the sums have it can't be told any more."""
        self._sums.changing = False
        if self._window.deposits:
            self._window.dropped = True
            note(error, "It came while gradients were added up, so the whole window is dropped.")
        else:
            self._sums.forget()
            self._window.empty()

    def check_items(self, items: float | None) -> None:
        """Raises LossError where micro-batches can't be weighed against each other."""
        if self._window.deposits and (items is None) != self.itemless:
            raise LossError(
                "some micro-batches of this window came with items and some without: they can't be "
                "weighed against each other. Pass items with every backward()."
            )
        self.itemless = items is None

    def check_nobody_else(self, turn: MicroBatch) -> None:
        """Raises MisuseError for a micro-batch without a loss of its own, and gradients in the
        cells: an old habit.
        """
        if not (turn.pending or turn.torn):
            cells = self._packing.cells
            cells.look()
            if cells.holder is not None:
                self._ownership.clear()
                self._tell_whose_gradient(cells.holder)

    def _tell_whose_gradient(self, holder: Tensor) -> NoReturn:
        raise MisuseError(
            f"{self._ownership.names()[id(holder)]} holds a gradient that did not come through "
            "this Stepper. If its loss is meant to count, call stepper.backward(loss) in place "
            "of loss.backward(); if not, clear it with model.zero_grad()."
        )
