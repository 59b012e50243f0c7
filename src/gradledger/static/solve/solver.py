"""Solves programs within the bounds for one file: whole, or in part where that takes too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from gradledger.ledger import Judge, Outcomes
from gradledger.ledger.events import Own
from gradledger.ledger.values import Value
from gradledger.static import budget
from gradledger.static.ir.blocks import events_in
from gradledger.static.ir.program import Program
from gradledger.static.solve.interpreter import Interpreter, TooManyPaths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    View = Literal["all", "essential", "one optimizer", "schedules"]
else:
    View = str

TOO_MANY = "there are too many paths through it"
IN_PART = "of its many paths, only deposits, steps and clears were followed"
ONE_BY_ONE = "of its many paths, only those of each optimizer by itself were followed"


class Solution(Value):
    """A program, or a part of it, that was followed on all paths."""

    program: Program
    met: Interpreter
    view: View = "all"


class Solver:
    """Follows the programs of a file, as far as its bounds allow."""

    def __init__(
        self, judge: Judge, *, outcomes: Outcomes | None = None, stops: Callable[[str], bool]
    ) -> None:
        self._judge = judge
        # Roots have much in common, and so have a program and its parts.
        self._known = Outcomes(judge, counts=False) if outcomes is None else outcomes
        """What events do to pages, for all programs."""
        self._stops = stops
        self._most_outcomes = budget.MOST_OUTCOMES
        """Of one root."""
        self._visits = budget.MOST_VISITS_IN_A_FILE
        self._outcomes = budget.MOST_OUTCOMES_IN_A_FILE

    @property
    def is_spent(self) -> bool:
        """True if nothing is left for other roots."""
        return not (self._visits and self._outcomes)

    def solve(self, program: Program) -> tuple[list[Solution], str]:
        """What the program does on its paths; and, where that is not all of them, why."""
        try:
            return [self._followed(program)], ""
        except TooManyPaths:
            solutions, why = self._in_part(program)
        if why == TOO_MANY:
            # Its neighbours are likely no better, and tests come by the dozen.
            self._most_outcomes = budget.MOST_OUTCOMES // 3
        return solutions, why

    def _followed(self, program: Program, view: View = "all") -> Solution:
        """Raises TooManyPaths where it takes too long."""
        interpreter = Interpreter(
            self._judge,
            outcomes=self._known,
            stops=self._stops,
            most_visits=min(budget.MOST_VISITS, self._visits),
            most_outcomes=min(self._most_outcomes, self._outcomes),
        )
        try:
            interpreter.run(program)
        finally:
            self._visits = max(self._visits - interpreter.visits, 0)
            self._outcomes = max(self._outcomes - interpreter.outcomes, 0)
        return Solution(program, interpreter, view)

    def _in_part(self, program: Program) -> tuple[list[Solution], str]:
        """Deposits, steps and clears alone; if that is still too much, each optimizer by itself."""
        from gradledger.static.ir.essentials import essential
        from gradledger.static.ir.one_optimizer import alone, owners

        less = essential(program)
        if less != program:
            try:
                solutions = [self._followed(less, "essential")]
            except TooManyPaths:
                pass
            else:
                return [*solutions, *self._schedules(program, list(_owners(program)))], IN_PART
        solutions = []
        left_out: list[Own] = []
        several = owners(program)
        for owner in several:
            try:
                solutions.append(self._followed(alone(program, owner), "one optimizer"))
            except TooManyPaths:
                left_out.append(owner)
        solutions += self._schedules(program, left_out if several else list(_owners(program)))
        if len(left_out) == len(several):
            return solutions, TOO_MANY
        names = ", ".join(owner.optimizer for owner in left_out)
        return solutions, f"{ONE_BY_ONE}, and not those of {names}" if names else ONE_BY_ONE

    def _schedules(self, program: Program, owners: list[Own]) -> Iterator[Solution]:
        """The moves of these optimizers' schedules, which take little to follow."""
        from gradledger.static.ir.schedules import has_schedules, moving

        for owner in owners:
            if has_schedules(program, owner):
                with suppress(TooManyPaths):
                    yield self._followed(moving(program, owner), "schedules")


def _owners(program: Program) -> Iterator[Own]:
    return (event for event in events_in(program) if isinstance(event, Own))
