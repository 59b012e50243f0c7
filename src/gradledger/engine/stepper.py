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

from gradledger.engine import checkpoint, resuming, together, trees
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
    check_path,
    check_scaler,
    check_schedulers,
    evaluates,
    several,
)
from gradledger.engine.parts import Parts
from gradledger.engine.passes import Pass, Position
from gradledger.engine.plan import Plan, make_plan
from gradledger.engine.ranks import sharing
from gradledger.engine.ranks.joining import join
from gradledger.engine.restoring import put_back_on_failure
from gradledger.engine.scaling import Scaling
from gradledger.engine.skips import Skip
from gradledger.engine.telling import announced
from gradledger.errors import CheckpointError, LossError, MisuseError, OptionError

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
        with release="eager", "raise".
    pack: step small parameters together.
    release: "eager" spends each gradient as it arrives, and frees it.
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
            on_nonfinite = "raise" if release == "eager" else "skip"
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
        self._model = model
        self._evaluates = any(map(evaluates, optimizers))
        self._cycle = Cycle(Parts(ownership, packing, scaling, schedulers, options, spread))
        self._evaluation = Evaluation(self._cycle, kept=self._evaluates)
        self._eager = (
            EagerRelease(ownership, self._cycle.closing.spending.guards, options)
            if release == "eager"
            else None
        )
        self._position = Position()
        self._pass: Pass[Any] | None = None

    # The loop -----------------------------------------------------------------------------------

    @announced
    def over(self, data: Iterable[T]) -> Pass[T]:
        """Yields what `data` yields, each as a micro-batch. Its end is the end of the window.

        A window that an earlier pass left open (a `break`, an exception) is spent first. `data` may
        be another Stepper's pass: windows of several micro-batches then end together.
        """
        check_data(data)
        cycle = self._cycle
        cycle.end_turn()
        comeback = self._position.comeback
        if comeback is None or comeback.start is None or cycle.window.full:
            cycle.finish()
        if comeback is None:
            self._position.leave()
        cycle.begin_pass()
        company = data.company if isinstance(data, Pass) else Company()
        company.join(cycle)
        self._pass = Pass(data, cycle, self._position, company)
        return self._pass

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
        if self._eager is not None:
            return self._spend_at_once(loss, more=more, retain_graph=retain_graph)
        try:
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
        if self._eager is not None:
            raise MisuseError(
                'release="eager" spends at once, and can\'t try again: use backward().'
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
        if self._eager is not None:
            waiting = 'release="eager" steps each parameter by itself'
        elif self._cycle.meetings is not None:
            waiting = "DistributedDataParallel has its gradient in a buffer of its own"
        elif not self._cycle.parts.options.pack:
            waiting = "pack=False"
        return make_plan(self._cycle.parts.ownership, packing, waiting=waiting)

    def _spend_at_once(self, loss: Tensor, *, more: bool, retain_graph: bool) -> bool:
        assert self._eager is not None
        if more:
            raise MisuseError(
                'release="eager" spends each loss as it arrives, and can\'t wait for another: add '
                "the losses up, and pass the sum."
            )
        cycle = self._cycle
        inputs = list(cycle.deposits.ready(loss))
        self._eager.backward(loss, inputs, retain_graph=retain_graph)
        cycle.deposits.remember(loss)
        if not self._eager.moved:
            raise LossError("the loss reaches no parameter of this Stepper's optimizer.")
        cycle.parts.telling.spent_at_once(self._eager.moved, retain_graph=retain_graph)
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
        return self._position.epoch

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
        if self._evaluates and self._cycle.window.open:
            raise CheckpointError(
                "this optimizer evaluates the window's batches again when it is full, and they are "
                "not part of the state. Save when the window is spent: after flush(), for one."
            )
        meetings, turn = self._cycle.meetings, self._cycle.window.turn
        begun = self._cycle.window.begun - (turn is not None and not turn.complete)
        if meetings is not None and not (meetings.apart or meetings.alike) and begun:
            raise CheckpointError(
                "FSDP2 keeps the sums of an open window, and they are not part of the state. Save "
                f"when the window is spent; {begun} of {self._cycle.window.size} micro-batches are "
                "in this one."
            )
        return self._local_state()

    def _local_state(self) -> dict[str, Any]:
        reads = self._pass
        while reads is not None and isinstance(reads.data, Pass):
            reads = reads.data
        own = [] if reads is None else reads.generators
        state = resuming.state_of(self._cycle, self._position, own)
        return checkpoint.described(state | {"fitting": self._evaluation.fitting})

    @announced
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from there. Load the model's and the optimizer's state first.

        Raises CheckpointError, and changes nothing, where it does not fit.
        """
        found = self._differences(state)
        if found:
            raise CheckpointError(f"the state does not fit this Stepper: {'; '.join(found)}.")
        before = resuming.Before(self._cycle, self._position)
        try:
            self._position = resuming.go_on(state, self._cycle)
        except Exception as error:
            before.come_back()
            raise CheckpointError(
                f"the state does not fit this Stepper: {type(error).__name__}: {error}. Nothing "
                "was changed."
            ) from error
        self._evaluation.fitting = state["fitting"]
        self._evaluation.forget()
        self._pass = None
        if self._cycle.meetings is not None:
            self._cycle.meetings.arrange(self._cycle.window.begun + 1)

    def _differences(self, state: object) -> list[str]:
        found = resuming.differences(state, self._cycle)
        if not found and isinstance(state, Mapping):
            fitting = state.get("fitting", 0)
            if fitting is not None and (type(fitting) is not int or fitting < 1):
                found.append(
                    "its 'fitting' is damaged" if "fitting" in state else "it has no 'fitting'"
                )
        return found

    @announced
    def shared_state_dict(self) -> dict[str, Any]:
        """The state of all ranks as one, for torch.distributed.checkpoint. All must call it.

        It can be loaded on another number of ranks.
        """
        cycle = self._cycle
        if cycle.meetings is None:
            raise MisuseError("the model is not spread over ranks: state_dict() is all there is.")
        turn = cycle.window.turn
        whole = cycle.meetings.apart or cycle.meetings.alike
        given_up = turn is not None and turn.given_up and whole
        if turn is not None and not (turn.complete or given_up):
            raise MisuseError(
                "this micro-batch has had no backward() yet, and what the ranks have is put "
                "together now. Call shared_state_dict() after it."
            )
        sharing.put_together(cycle)
        return sharing.shared_state(cycle, self._local_state())

    @announced
    def load_shared_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from there. Load the model's and the optimizer's state first.

        On another number of ranks, `over` begins with the first of the data that it is given.
        """
        cycle = self._cycle
        if cycle.meetings is None:
            raise MisuseError("the model is not spread over ranks: use load_state_dict().")
        local, rest = sharing.opened(state, cycle)
        if local["random"] is None:
            local["random"] = self._local_state()["random"]
        self.load_state_dict(checkpoint.described(local))
        sharing.take_up(state, rest, cycle)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes model, optimizers and this Stepper's state to one file, whole or not at all."""
        check_path(path)
        if self._cycle.meetings is not None and not self._cycle.meetings.apart:
            raise CheckpointError(
                "no rank has all of a sharded model. Save it with torch.distributed.checkpoint, "
                "and with it stepper.shared_state_dict()."
            )
        optimizers = self._cycle.parts.ownership.optimizers
        content = checkpoint.describe(self._model, optimizers)
        checkpoint.write(path, checkpoint.described({**content, "stepper": self.state_dict()}))

    @announced
    def load(self, path: str | os.PathLike[str]) -> None:
        """Goes on from a file. Raises CheckpointError, and changes nothing, if it does not fit."""
        check_path(path)
        saved = checkpoint.read(path)
        cycle = self._cycle
        optimizers = cycle.parts.ownership.optimizers
        found = checkpoint.differences(saved, self._model, optimizers)
        found += self._differences(saved.get("stepper"))
        if not found and (saved["stepper"]["version"] > resuming.OLDEST or "kinds" in saved):
            found = checkpoint.misfits(saved, besides=checkpoint.HEADER)
        if found:
            raise CheckpointError(f"{os.fspath(path)} does not fit: {'; '.join(found)}.")
        before = resuming.Before(cycle, self._position)
        cycle.parts.packing.unpack()
        try:
            with put_back_on_failure(self._model, optimizers):
                checkpoint.take_up(saved, self._model, optimizers)
                self.load_state_dict(saved["stepper"])
        except Exception as error:
            before.come_back()
            raise CheckpointError(
                f"{os.fspath(path)} does not fit: {type(error).__name__}: {error}. Nothing was "
                "changed."
            ) from error
