"""Frameworks that are between the program and torch: where a loss is made, who divides it."""

from __future__ import annotations

import ast
import sys
from types import CodeType, FrameType
from typing import NamedTuple

from gradledger.ledger.events import Weight
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.losses.loss_lines import Division, division, loss_line
from gradledger.runtime.losses.training_steps import TrainingStep, TrainingSteps, code_of
from gradledger.runtime.losses.weights import Loss

CALLING = (
    "transformers.trainer",
    "lightning.pytorch",
    "pytorch_lightning",
    "ignite.engine",
)
"""Modules of frameworks that call `backward` by themselves, or divide what is given to theirs."""


class TrainerLosses:
    """Passes that frameworks make: where the program makes their loss, and who divides it."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.there = False
        """Some framework is loaded that calls `backward` by itself."""
        self._steps = TrainingSteps()
        self._without: set[int] = set()
        """Places of passes that no framework makes, by identity."""
        self._made: dict[tuple[int, int], Place] = {}
        journal.imported.append(self._look)

    def _look(self) -> None:
        self.there = any(name in sys.modules for name in CALLING)

    def making(self, at: Place, frame: FrameType) -> tuple[Place, FrameworkPass | None]:
        """Where a pass is to be told that was called here, and the framework that makes it."""
        if id(at) in self._without:
            return at, None
        step = self._steps.read(frame)
        if step is None:
            self._without.add(id(at))
            return at, None
        code = next(filter(None, map(self._users_code, step.makers)), None)
        if at.via is not None and code is not None:
            key = id(at), id(code)
            found = self._made.get(key)
            if found is None:
                line = loss_line(self.journal.places.source(code.co_filename), code)
                found = self._made[key] = replace(line, via=at.via)
            at = found
        self.journal.frameworks[at] = step.framework
        return at, FrameworkPass(step, code)

    def _users_code(self, maker: object) -> CodeType | None:
        code = code_of(maker)
        return code if code is not None and self.journal.places.is_users(code) else None

    def weighed(self, loss: Loss, this: FrameworkPass, at: Place) -> Loss:
        """The same loss, and whether the program has divided it by the window before."""
        (_, _, window, divides, *_), code = this
        divisor = loss.weight.divisor
        if not divides or window < 2 or not isinstance(divisor, int | float):
            return loss
        path = at.path if code is None else self.journal.places.named(code.co_filename)
        found = division(self.journal.places.source(path), code, at)
        statement = divided_by(window, divisor / window, found)
        if statement is None:
            return loss
        divided_at = Place(path, statement.lineno, statement.col_offset, at.via)
        weight = replace(loss.weight, divisor=window, framework_divides=True, divided_at=divided_at)
        return replace(loss, weight=weight)


class FrameworkPass(NamedTuple):
    """A pass that a framework makes. It is not kept: the step holds the program's objects."""

    step: TrainingStep
    code: CodeType | None
    """The program's function that made its loss."""


def divided_once_more(journal: Journal, given: Loss, window: int, at: Place, by: str) -> Weight:
    """The weight of a loss that a framework divides by the window, after the program perhaps."""
    found = division(journal.places.source(at.path), None, at)
    statement = divided_by(window, given.weight.divisor, found)
    journal.frameworks[at] = by
    if statement is None:
        so_far = given.weight.divisor
        divisor = so_far * window if isinstance(so_far, int | float) else None
        return replace(given.weight, divisor=divisor)
    divided_at = Place(at.path, statement.lineno, statement.col_offset)
    return replace(given.weight, framework_divides=True, divided_at=divided_at)


def divided_by(window: int, divisor: object, found: Division | None) -> ast.stmt | None:
    """The statement of the program that divides a loss by the window, if this division does."""
    if found is None or not isinstance(divisor, int | float):
        return None
    is_window = abs(divisor - window) < 1e-6 * window
    return found.statement if is_window and found.may_be_by(window) else None
