"""The position of the training (updates, windows, data), and how a checkpoint stores it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from torch import nn

from gradledger.engine import checkpoint, resuming
from gradledger.engine.cycle import Cycle
from gradledger.engine.evaluation import Evaluation
from gradledger.engine.parties import check_path
from gradledger.engine.passes import Pass, Position
from gradledger.engine.ranks import sharing
from gradledger.engine.restoring import put_back_on_failure
from gradledger.errors import CheckpointError, MisuseError


class Progress:
    """The place in the data, and all that a Stepper saves and loads."""

    def __init__(self, model: nn.Module, cycle: Cycle, evaluation: Evaluation) -> None:
        self._model = model
        self._cycle = cycle
        self._evaluation = evaluation
        self.position = Position()
        self.reads: Pass[Any] | None = None
        """The pass that `over` made last."""

    def state_dict(self) -> dict[str, Any]:
        """All that is needed, besides model and optimizer, to go on bit for bit."""
        if self._evaluation.keeps and self._cycle.window.open:
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
        reads = self.reads
        while reads is not None and isinstance(reads.data, Pass):
            reads = reads.data
        own = [] if reads is None else reads.generators
        state = resuming.state_of(self._cycle, self.position, own)
        return checkpoint.described(state | {"fitting": self._evaluation.fitting})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from there. Load the model's and the optimizer's state first.

        Raises CheckpointError, and changes nothing, where it does not fit.
        """
        found = self._differences(state)
        if found:
            raise CheckpointError(f"the state does not fit this Stepper: {'; '.join(found)}.")
        before = resuming.Before(self._cycle, self.position)
        try:
            self.position = resuming.go_on(state, self._cycle)
        except Exception as error:
            before.come_back()
            raise CheckpointError(
                f"the state does not fit this Stepper: {type(error).__name__}: {error}. Nothing "
                "was changed."
            ) from error
        self._evaluation.fitting = state["fitting"]
        self._evaluation.forget()
        self.reads = None
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
        before = resuming.Before(cycle, self.position)
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
