"""Forward and backward in one: for memory that runs out, and for optimizers that call the loss."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor, optim

from gradledger.engine.cycle import Cycle
from gradledger.engine.deposits import Collected
from gradledger.engine.losses import Items, check_loss, count
from gradledger.engine.places import outside
from gradledger.engine.trees import rows, split
from gradledger.errors import LossError, StepperWarning

Batch = TypeVar("Batch")
LossFn: TypeAlias = Callable[[Batch], "Tensor | tuple[Tensor, Items]"]


class Evaluation:
    """Runs a user's loss function on batches, or on pieces of them."""

    def __init__(self, cycle: Cycle, *, kept: bool) -> None:
        self._cycle = cycle
        self.fitting: int | None = None
        """The most rows that fit into memory, once some did not."""
        self._too_many: int | None = None
        """How many did not, as long as nobody was told."""
        self.keeps = kept
        if kept:
            cycle.closing.closures = self
        self._kept: list[tuple[Any, LossFn[Any], float | None]] = []
        """The pieces of the open window, where the optimizer evaluates them again."""

    def deposit(self, batch: Batch, loss_fn: LossFn[Batch], items: float | None) -> Tensor:
        """Deposits a batch, in pieces where it does not fit; gives its mean loss, detached.

        Each piece is weighed by its own items, so that the sum is that of the whole.
        """
        height = rows(batch)
        waiting = deque([batch])
        losses: list[Tensor] = []
        weights: list[float] = []
        before: _Before | None = None
        try:
            while waiting:
                piece = waiting.popleft()
                if self._too_large(piece):
                    before = before or _Before(self._cycle, self._kept)
                    waiting.extendleft(reversed(split(piece, self.fitting or 1)))
                    continue
                share = items if piece is batch else _share(items, height, rows(piece))
                done = self._attempt(piece, loss_fn, share, last=not waiting)
                if done is None:
                    waiting.appendleft(piece)
                else:
                    losses.append(done[0])
                    weights.append(done[1] or 1.0)
        except BaseException:
            turn = self._cycle.window.turn
            if losses and before is not None and not (turn is not None and turn.complete):
                before.come_back()
            raise
        return _mean(losses, weights)

    def _too_large(self, piece: object) -> bool:
        if self.fitting is None:
            return False
        height = rows(piece)
        return height is not None and height > self.fitting

    def _attempt(
        self, piece: Batch, loss_fn: LossFn[Batch], items: float | None, *, last: bool
    ) -> tuple[Tensor, float | None] | None:
        """One forward and backward; None where memory ran out, and a smaller piece may do."""
        try:
            loss, items, collected = self._evaluate(piece, loss_fn, items)
        except Exception as error:
            if not ran_out_of_memory(error):
                raise
            height = rows(piece)
            if height is None or height < 2:
                raise
            self.fitting = (height + 1) // 2
            self._too_many = self._too_many or height
            # Not `return` from here: the exception holds what takes the memory until this ends.
        else:
            # Not tried again: the sums do not get smaller with the piece.
            self._cycle.deposits.deposit(loss, items, collected, last=last)
            self._tell_what_fits()
            if self.keeps:
                self._kept.append((piece, loss_fn, items))
            return loss.detach(), items
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.empty_cache()
        return None

    def _tell_what_fits(self) -> None:
        if self._too_many is not None:
            too_many, self._too_many = self._too_many, None
            warnings.warn(
                f"Out of memory with {too_many} rows: going on with pieces of {self.fitting}. The "
                "update stays that of the whole batch.",
                StepperWarning,
                stacklevel=outside(),
            )

    def _evaluate(
        self, piece: Batch, loss_fn: LossFn[Batch], items: float | None
    ) -> tuple[Tensor, float | None, Collected | None]:
        answer = loss_fn(piece)
        if isinstance(answer, tuple):
            if len(answer) != 2:
                raise LossError(
                    f"loss_fn must return the loss, or (loss, items), and returned {len(answer)} "
                    "values."
                )
            answer, counted = answer
            items = count(counted)
        elif items is None:
            items = rows(piece)
        check_loss(answer)
        self._cycle.deposits.check_items(items)
        if self._cycle.window.turn is not None:
            self._cycle.window.turn.items = items
        return answer, items, self._cycle.deposits.walk_back(answer)

    # Optimizers that evaluate -----------------------------------------------------------------

    def closure(self) -> Callable[[], Tensor]:
        """Computes the gradient of the open window again, at wherever the parameters are then."""
        cycle = self._cycle
        (optimizer,) = cycle.parts.ownership.optimizers
        fresh = isinstance(optimizer, optim.LBFGS)  # begins with a call, before it moves anything

        def evaluate() -> Tensor:
            nonlocal fresh
            if fresh:
                fresh = False
            else:
                self._deposit_again()
            losses = [loss for _, loss in cycle.window.losses]
            return _mean(losses, [items or 1.0 for _, _, items in self._kept])

        return torch.enable_grad()(evaluate)

    def _deposit_again(self) -> None:
        cycle = self._cycle
        cycle.parts.ownership.clear()
        cycle.parts.sums.forget()
        cycle.window.empty()
        for piece, loss_fn, items in self._kept:
            loss, _, collected = self._evaluate(piece, loss_fn, items)
            cycle.parts.telling.forget()  # the optimizer's own business, as its line search is
            cycle.deposits.deposit(loss, items, collected)
        cycle.closing.spending.present()

    def forget(self) -> None:
        """The window is over."""
        self._kept.clear()


class _Before:
    """The window before the first piece of a micro-batch: where a piece fails, none was there."""

    def __init__(self, cycle: Cycle, kept: list[Any]) -> None:
        self._cycle = cycle
        self._window = replace(cycle.window, losses=list(cycle.window.losses))
        self._sums = [(p, _copy(total)) for p, total in cycle.parts.sums.each()]
        self._kept, self._count = kept, len(kept)

    def come_back(self) -> None:
        """Puts it back, bit for bit."""
        window, was = self._cycle.window, self._window
        self._cycle.parts.sums.forget()
        self._cycle.parts.sums.restore(self._sums)
        window.deposits, window.weight = was.deposits, was.weight
        window.first_items, window.dropped = was.first_items, was.dropped
        window.losses[:] = was.losses
        del self._kept[self._count :]


def _copy(total: Tensor) -> Tensor:
    try:
        return total.clone()
    except Exception as error:
        if not ran_out_of_memory(error):
            raise
    return total.cpu()


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether memory was the trouble: a device's, or the machine's."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and any(
        words in text for words in ("out of memory", "can't allocate memory", "not enough memory")
    )


def _share(items: float | None, height: int | None, piece: int | None) -> float | None:
    """What of a batch's items a piece has."""
    if items is None or items == height:
        return piece
    raise LossError(
        f"the batch has to be split, and items={items:g} is not its number of rows ({height}): how "
        "many each piece has can't be told. Let loss_fn return (loss, items)."
    )


def _mean(losses: list[Tensor], weights: list[float]) -> Tensor:
    total = sum(weights)
    return torch.stack([x * (w / total) for x, w in zip(losses, weights, strict=True)]).sum()
