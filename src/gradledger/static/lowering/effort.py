"""How far a walk goes: what takes longer is unknown."""

from __future__ import annotations

from gradledger.errors import GradledgerError

MOST_STATEMENTS = 2_500
"""So many are walked for one root: what takes more is unknown."""

MOST_WORK = 6_000
"""So many steps are taken for one root, also where they come to nothing and statements are given
back for it: functions that call each other in loops would have no end."""

LETTERS_IN_A_STEP = 400
"""Of tables that stand in the source: to read so much takes as long. Other code has statements."""

DEEPEST = 14
"""So many calls inside of one another are followed."""

TOO_MUCH = "there is too much code behind it to follow"


class TooMuchCode(GradledgerError):
    """There is more code behind a function than is worth following: it is unknown."""


class Effort:
    """The statements that were walked, and the work that it took."""

    def __init__(self) -> None:
        self.statements = 0
        """Without those of loops in which nothing happens."""
        self.most_statements = MOST_STATEMENTS
        self.work = 0
        """All of it, and never less than before."""
        self.most_work = MOST_WORK

    def count_statement(self) -> None:
        """Raises TooMuchCode where there is no end to it."""
        self.statements += 1
        self.count_work(1)
        if self.statements > self.most_statements:
            raise TooMuchCode(TOO_MUCH)

    def count_work(self, steps: int) -> None:
        """Raises TooMuchCode where nobody has the time."""
        self.work += steps
        if self.work > self.most_work:
            raise TooMuchCode(TOO_MUCH)
