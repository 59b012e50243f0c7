"""Stepper: the loop done right, in front of the loop that people have."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from gradledger.engine import together, trees
from gradledger.engine.company import Company
from gradledger.engine.cycle import Cycle
from gradledger.engine.eager import EagerRelease, check_eager
from gradledger.engine.evaluation import Batch, Evaluation, LossFn
from gradledger.engine.losses import Items, check_loss, count
from gradledger.engine.options import (
    ClipNorm,
    Doubt,
    OnFault,
    OnNonFinite,
    Options,
    Release,
    check_names,
)
from gradledger.engine.ownership import Ownership
from gradledger.engine.packing import Packing
from gradledger.engine.parties import (
    check_data,
    check_model,
    check_optimizers,
    check_scaler,
    check_schedulers,
    evaluates,
    several,
)
from gradledger.engine.parts import Parts
from gradledger.engine.passes import Pass
from gradledger.engine.plan import Plan, make_plan
from gradledger.engine.progress import Progress
from gradledger.engine.ranks.joining import join
from gradledger.engine.scaling import Scaling
from gradledger.engine.skips import Skip
from gradledger.engine.telling import announced
from gradledger.errors import LossError, MisuseError, OptionError

if TYPE_CHECKING:
    from typing_extensions import Never

T = TypeVar("T")


class Stepper:
    """Deposits, spends and clears, in the right order, with the right weights.

    ```python
    stepper = Stepper(model, optimizer, accumulate=4, clip_norm=1.0)
    for x, y in stepper.over(loader):
        loss = criterion(model(x), y)
        stepper.backward(loss, items=len(y))
    ```

    model: gives the parameters their names, and is what `save` saves.
    optimizer: one, or a list that is stepped together: all or none.
    accumulate: micro-batches in a window.
    clip_norm: largest norm of the window's gradient; a list: one for each param group.
    clip_value: largest absolute value of an element.
    scaler: a GradScaler, which is then the Stepper's to use.
    scheduler: one, or a list, that moves once per update.
    on_fault: "continue" without a micro-batch that failed, or "drop" its whole window.
    on_nonfinite: "skip" the update, or "raise" as well, or "allow" it unchecked. Default: "skip";
        with release="eager" and windows of one, "raise".
    pack: step small parameters together.
    release: "eager" frees each gradient as it arrives: spends it, or adds it to the window.
    allow: what is not to be warned of, because it is meant: "divided", "scaled", "factors",
        "items", "eval", "unowned".
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer | Sequence[Optimizer],
        *,
        accumulate: int = 1,
        clip_norm: ClipNorm = None,
        clip_value: float | None = None,
        scaler: GradScaler | None = None,
        scheduler: LRScheduler | Sequence[LRScheduler] | None = None,
        on_fault: OnFault = "continue",
        on_nonfinite: OnNonFinite | None = None,
        pack: bool = True,
        release: Release = "window",
        allow: Sequence[Doubt] = (),
        **unknown: Never,
    ) -> None:
        check_names(unknown, list(Stepper.__init__.__kwdefaults__ or ()))
        optimizers = several(optimizer)
        schedulers = several(scheduler)
        check_model(model)
        check_optimizers(model, optimizers)
        check_schedulers(schedulers, optimizers)
        check_scaler(scaler, optimizers)
        if on_nonfinite is None:
            on_nonfinite = "raise" if release == "eager" and accumulate == 1 else "skip"
        options = Options(
            accumulate, clip_norm, clip_value, on_fault, on_nonfinite, pack, release, allow
        )
        options.check_groups(sum(len(o.param_groups) for o in optimizers))
        scaling = Scaling(scaler)
        if release == "eager":
            check_eager(options, optimizers, scaled=scaling.scaler is not None)

        spread = join(model, optimizers, eager=release == "eager")
        ownership = Ownership(model, optimizers)
        packing = Packing(ownership, wanted=pack and release == "window" and spread is None)
        self._evaluates = any(map(evaluates, optimizers))
        self._cycle = Cycle(Parts(ownership, packing, scaling, schedulers, options, spread))
        self._evaluation = Evaluation(self._cycle, kept=self._evaluates)
        self._eager = (
            EagerRelease(ownership, self._cycle.closing.spending.guards, options)
            if release == "eager" and options.accumulate == 1
            else None
        )
        self._progress = Progress(model, self._cycle, self._evaluation)

    # The loop -----------------------------------------------------------------------------------

    @announced
    def over(self, data: Iterable[T]) -> Pass[T]:
        """Yields what `data` yields, each as a micro-batch. Its end is the end of the window.

        A window that an earlier pass left open (a `break`, an exception) is spent first. `data` may
        be another Stepper's pass: windows of several micro-batches then end together.
        """
        check_data(data)
        cycle, position = self._cycle, self._progress.position
        cycle.end_turn()
        comeback = position.comeback
        if comeback is None or comeback.start is None or cycle.window.full:
            cycle.finish()
        if comeback is None:
            position.leave()
        cycle.begin_pass()
        company = data.company if isinstance(data, Pass) else Company()
        company.join(cycle)
        reads: Pass[T] = Pass(data, cycle, position, company)
        self._progress.reads = reads
        return reads

    @announced
    def backward(
        self,
        loss: Tensor,
        *,
        items: Items | None = None,
        more: bool = False,
        retain_graph: bool = False,
    ) -> bool:
        """Deposits a loss. True when that made an update.

        items: how many items the loss is the mean of.
        more: another loss of this micro-batch follows, with the same items.
        """
        check_loss(loss)
        amount = None if items is None else count(items)
        if self._evaluates:
            raise MisuseError(
                "this optimizer evaluates the loss itself, several times for each step. Give it "
                "the means: stepper.run(batch, loss_fn)."
            )
        cycle = self._cycle
        turn = cycle.enter_turn()
        if cycle.window.dropped:
            if not more and cycle.meetings is not None:
                cycle.meetings.stand_in()
            return not more and cycle.complete_turn()
        if turn.pending and amount != turn.items:
            raise LossError(
                f"this micro-batch has items={turn.items}, and now items={amount}. All its losses "
                "are weighed alike: give both the same number, and put what differs into the loss."
            )
        turn.items = amount
        if cycle.deposits.itemless is not (amount is None):
            cycle.deposits.check_items(amount)
        options = cycle.parts.options
        if options.release == "eager" and more:
            raise MisuseError(
                'release="eager" spends or adds each loss as it arrives, and can\'t wait for '
                "another: add the losses up, and pass the sum."
            )
        if self._eager is not None:
            return self._spend_at_once(loss, self._eager, retain_graph=retain_graph)
        try:
            if options.release == "eager":
                cycle.deposits.add_on_arrival(loss, amount, retain_graph=retain_graph)
                return cycle.complete_turn()
            meetings = cycle.meetings
            if meetings is not None and not cycle.meets:
                meetings = None
            collected = None
            if meetings is None:
                collected = cycle.deposits.walk_back(loss, retain_graph=retain_graph, more=more)
            elif more:
                together.keep(cycle, loss)
            if more:
                turn.pending = True
                return False
            if meetings is None:
                cycle.deposits.deposit(loss, amount, collected)
            else:
                together.deposit(cycle, meetings, loss, amount)
        except (LossError, MisuseError):
            raise
        except BaseException:
            if not turn.complete:
                cycle.withdraw()
            raise
        return cycle.complete_turn()

    @announced
    def run(self, batch: Batch, loss_fn: LossFn[Batch], *, items: Items | None = None) -> Tensor:
        """Forward and backward in one: `loss_fn(batch)` gives the mean loss, or (loss, items).

        When memory runs out, the batch is halved and tried again; the update is the same. Gives the
        loss, detached.
        """
        if not callable(loss_fn):
            raise OptionError(
                f"loss_fn must be a function of the batch, got {type(loss_fn).__name__}."
            )
        amount = None if items is None else count(items)
        cycle = self._cycle
        turn = cycle.enter_turn()
        if cycle.parts.options.release == "eager":
            raise MisuseError(
                'release="eager" does not keep what a second try would need: use backward().'
            )
        if cycle.meetings is not None and not cycle.meetings.apart:
            raise MisuseError(
                "run() may try a micro-batch again in pieces, and the layers of a sharded model "
                "need all ranks for each piece: use backward()."
            )
        if turn.pending:
            raise MisuseError(
                "run() is all of a micro-batch, and this one has begun with backward()."
            )
        if cycle.window.dropped:
            cycle.complete_turn()
            return torch.full((), torch.nan)
        if cycle.meetings is not None:
            cycle.meetings.keep_apart()
        try:
            loss = self._evaluation.deposit(batch, loss_fn, amount)
        except BaseException:
            if not turn.complete:
                cycle.withdraw()
            raise
        cycle.complete_turn()
        return loss

    def detach(self, state: T) -> T:
        """The state without its graph: tensors in tuples, lists, dicts and dataclasses."""
        return trees.detach(state)

    @announced
    def flush(self) -> bool:
        """Spends the open window now. Whether an update was made."""
        before = self.updates
        self._cycle.flush()
        return self.updates > before

    @announced
    def drop(self) -> None:
        """Forgets the open window."""
        self._cycle.closing.drop()

    def plan(self) -> Plan:
        """What was packed, what was not, and why."""
        packing = self._cycle.parts.packing
        waiting = "packing begins after the first update" if packing.stale else None
        if self._cycle.parts.options.release == "eager":
            waiting = 'release="eager" has each gradient by itself'
        elif self._cycle.meetings is not None:
            waiting = "DistributedDataParallel has its gradient in a buffer of its own"
        elif not self._cycle.parts.options.pack:
            waiting = "pack=False"
        return make_plan(self._cycle.parts.ownership, packing, waiting=waiting)

    def _spend_at_once(self, loss: Tensor, eager: EagerRelease, *, retain_graph: bool) -> bool:
        cycle = self._cycle
        inputs = list(cycle.deposits.ready(loss))
        eager.backward(loss, inputs, retain_graph=retain_graph)
        cycle.deposits.remember(loss)
        if not eager.moved:
            raise LossError("the loss reaches no parameter of this Stepper's optimizer.")
        cycle.parts.telling.spent_at_once(loss, eager.moved, retain_graph=retain_graph)
        cycle.complete_turn()
        cycle.closing.count_update()
        return True

    # What it has done -----------------------------------------------------------------------------

    @property
    def updates(self) -> int:
        """Updates made."""
        return self._cycle.closing.updates

    @property
    def skipped(self) -> int:
        """Windows that were not finite, so that no update was made."""
        return self._cycle.closing.skipped

    @property
    def dropped(self) -> int:
        """Windows given up after a fault, or by `drop()`."""
        return self._cycle.closing.dropped

    @property
    def last_skip(self) -> Skip | None:
        """The last window that was not finite: which parameters, which micro-batches."""
        return self._cycle.closing.last_skip

    @property
    def epoch(self) -> int:
        """Passes over the data completed."""
        return self._progress.position.epoch

    @property
    def micro_batches(self) -> int:
        """Micro-batches of the open window, the current one included."""
        return self._cycle.window.begun

    @property
    def grad_norm(self) -> float | None:
        """Norm of the last window's gradient, divided and unscaled, before clipping.

        Waits for the device; nothing does before it is asked for. None before the first window, and
        where on_nonfinite="allow" without clip_norm leaves no reason to take it.
        """
        return self._cycle.closing.spending.norm if self._eager is None else self._eager.norm

    # Saving ---------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """All that is needed, besides model and optimizer, to go on bit for bit."""
        return self._progress.state_dict()

    @announced
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from there. Load the model's and the optimizer's state first.

        Raises CheckpointError, and changes nothing, where it does not fit.
        """
        self._progress.load_state_dict(state)

    @announced
    def shared_state_dict(self) -> dict[str, Any]:
        """The state of all ranks as one, for torch.distributed.checkpoint. All must call it.

        It can be loaded on another number of ranks.
        """
        return self._progress.shared_state_dict()

    @announced
    def load_shared_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from there. Load the model's and the optimizer's state first.

        On another number of ranks, `over` begins with the first of the data that it is given.
        """
        self._progress.load_shared_state_dict(state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes model, optimizers and this Stepper's state to one file, whole or not at all."""
        self._progress.save(path)

    @announced
    def load(self, path: str | os.PathLike[str]) -> None:
        """Goes on from a file. Raises CheckpointError, and changes nothing, if it does not fit."""
        self._progress.load(path)
