"""What a path takes for granted: what that weighs, and how it is said.

The weights only order paths: the one that a reader has least to grant comes first. An option at its
default costs nothing, one that is set otherwise costs most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gradledger.ledger.events import Batch, Event
from gradledger.ledger.findings import ONLY_WITH
from gradledger.ledger.places import Place
from gradledger.static.certainty.condition_words import Defaults, default_told, plain, worded
from gradledger.static.ir import condition_names
from gradledger.static.ir.blocks import events_in, pieces
from gradledger.static.ir.program import Branch, Leave, Loop, Program
from gradledger.static.lower.option_defaults import Stated
from gradledger.static.solve.small_steps import Decision

SET_OTHERWISE = 4
SELDOM = 3
"""An exception, a loop without a round, an unknown call that fills gradients."""
CHOSEN = 2
USUAL = 1
NEVER_MEANT = 100
"""What the interpreter only follows where it has nothing else to follow."""

_LEFT = {
    "break": "a loop is left early",
    "continue": "the rest of an iteration is skipped",
    "return": "the function returns early",
    "raise": "an exception is raised",
    "exit": "the program exits early",
}


class Assumptions:
    """Prices and words for the decisions on the paths of one program."""

    def __init__(
        self,
        defaults: Defaults,
        *,
        options: frozenset[str],
        unknown_calls: frozenset[Place],
        given: frozenset[Place],
        code: Callable[[Place], str],
        called: Mapping[str, str] | None = None,
    ) -> None:
        self._defaults = defaults
        self._options = options
        """Conditions that hold for a whole run."""
        self._unknown_calls = unknown_calls
        """Where code that was not followed gets hold of gradients."""
        self._given = given
        """Where optimizers come from outside: what happens there has happened before."""
        self._code = code
        self._called = called or {}
        """What the code calls objects that were made in sight."""

    def price(self, decision: Decision) -> int | None:
        """What it costs to take this for granted; None: the project says that it is not so."""
        match decision:
            case Decision("require"):
                return NEVER_MEANT
            case Decision("condition", str(condition), answer):
                return self._price_of_condition(condition, answer)
            case Decision("window", str(size), large):
                stated = self._defaults.of_window(size)
                if stated is None:
                    return USUAL * large
                if stated.value == 1:
                    return SET_OTHERWISE * large
                return 0 if large else None
            case Decision("branch", Branch() as branch, answer):
                return self._price_of_branch(branch, answer)
            case _:
                return SELDOM

    def _price_of_condition(self, condition: str, answer: bool) -> int:
        if condition_names.of_rounds(condition):
            return 0
        by_default = self._by_default(condition)
        if by_default is not None:
            return 0 if by_default[0] is answer else SET_OTHERWISE
        return CHOSEN if answer else USUAL

    def _by_default(self, condition: str) -> tuple[bool, Stated] | None:
        """What an option comes to by default. What changes on the way has no default."""
        return self._defaults.answer(condition) if condition in self._options else None

    def _price_of_branch(self, branch: Branch, answer: bool) -> int:
        at = _one_place(branch)
        if at is not None and at in self._given:
            return CHOSEN * answer
        if at is not None and at in self._unknown_calls:
            return SELDOM if answer else USUAL
        if not any(events_in(branch)):
            return CHOSEN * (_exit(branch.then if answer else branch.orelse) is not None)
        return USUAL

    def sentence(self, decision: Decision, *, only: bool) -> str:
        """What is taken for granted, in words; empty where there is nothing to say.

        `only`: there is no such path without it.
        """
        match decision:
            case Decision("condition", str(condition), answer):
                return self._of_condition(condition, answer, only)
            case Decision("window", str(size), True):
                stated = self._defaults.of_window(size)
                if stated is None:
                    return f"{_with(only)}`{plain(size)}` above 1"
                told = f"; {default_told(stated)}" if stated.value == 1 else ""
                return told and f"{_with(only)}`{stated.spelled}` above 1{told}"
            case Decision("branch", Branch() as branch, answer):
                return self._of_branch(branch, answer)
            case Decision("no rounds", Loop() as loop):
                event = next(events_in(loop), None)
                inside = (
                    ""
                    if event is None
                    else f" {'' if isinstance(event, Batch) else 'with '}{self._named(event)}"
                )
                return f"the loop{inside} has no rounds"
            case Decision("raise"):
                return "an exception is raised and handled"
            case _:
                return ""

    def _of_condition(self, condition: str, answer: bool, only: bool) -> str:
        if condition_names.of_rounds(condition):
            return ""
        if " reaches " in condition:
            reached = condition.rpartition(" reaches ")[2]
            cell = plain(self._called.get(reached, reached))
            return f"the loss {'reaches' if answer else 'does not reach'} `{cell}`"
        if " are those of " in condition:
            one, _, other = plain(condition).partition(" are those of ")
            same = "the same" if answer else "different"
            return f"`{one}` and `{other}` are {same} parameters"
        by_default = self._by_default(condition)
        if by_default is not None:
            stated = by_default[1]
            chosen = worded(condition, answer, stated.spelled)
            if by_default[0] is answer:
                return f"with {chosen}, its default"
            return f"{_with(only)}{chosen}; {default_told(stated)}"
        if condition in self._options:
            return _with(only) + worded(condition, answer)
        return f"where {worded(condition, answer)}"

    def _of_branch(self, branch: Branch, answer: bool) -> str:
        at = _one_place(branch)
        side, other = (branch.then, branch.orelse) if answer else (branch.orelse, branch.then)
        if at is not None and at in self._given:
            return f"{self._code(at)} has been used before" if answer else ""
        if at is not None and at in self._unknown_calls:
            return self._of_unknown_call(at, side, other, answer)
        event = next(events_in(side), None)
        if event is not None:
            return f"the branch with {self._named(event)} is taken"
        left = _exit(side)
        if left is not None:
            return _LEFT[left.by]
        event = next(events_in(other), None)
        return "" if event is None else f"{self._named(event)} is skipped"

    def _of_unknown_call(self, at: Place, side: Program, other: Program, answer: bool) -> str:
        if not answer:
            # The last of its branches says what became of it.
            return "" if any(events_in(side)) else f"{self._code(at)} leaves the gradients alone"
        kinds = [type(event).__name__ for event in events_in(side)]
        does = {"Clear": "clears the gradients", "Edit": "fills gradients"}
        done = does[kinds[0]] if len(kinds) == 1 and kinds[0] in does else "steps and clears itself"
        return f"{self._code(at)} {done}"

    def _named(self, event: Event) -> str:
        return self._code(event.at)


def _with(only: bool) -> str:
    return ONLY_WITH if only else "with "


def _one_place(branch: Branch) -> Place | None:
    """Where all of its events stand, if that is one place."""
    places = {event.at for event in events_in(branch)}
    return places.pop() if len(places) == 1 else None


def _exit(side: Program) -> Leave | None:
    return next((piece for piece in pieces(side) if isinstance(piece, Leave)), None)
