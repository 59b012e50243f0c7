"""One path through a program of events, as a real run would take it."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gradledger.ledger import Page, post
from gradledger.ledger.cells import SATURATING
from gradledger.ledger.events import Event, Step
from gradledger.static import (
    Branch,
    Call,
    Do,
    Forget,
    Leave,
    Loop,
    Program,
    Require,
    Sequence,
    Tick,
    Try,
)
from gradledger.static.solve.paths import Path

Position = tuple[str | int, ...]
"""Where in the program, whatever the round."""


class Left(Exception):
    """`break`, `continue`, `return` or `raise`."""


class Pruned(Exception):
    """The run is none that the program stands for."""


class Run:
    """Draws one path. `page` counts exactly, `path` is what the interpreter would call it."""

    def __init__(self, choice: random.Random) -> None:
        self._choice = choice
        self.page = Page()
        self.coarse = Page(counting=SATURATING)
        self.facts: dict[str, bool] = {}
        self._tries = 0

    @property
    def path(self) -> Path:
        return self.coarse, frozenset(self.facts.items())

    def events(self, program: Program) -> Iterator[tuple[Position, Event]]:
        """The events in order, each before it is posted."""
        try:
            yield from self._run(program, ())
        except (Left, Pruned):
            return

    def _run(self, program: Program, at: Position) -> Iterator[tuple[Position, Event]]:
        match program:
            case Do(event):
                yield from self._do(event, at)
            case Sequence(parts):
                for i, part in enumerate(parts):
                    yield from self._run(part, (*at, i))
            case Branch(then, orelse, condition):
                answer = self._choice.random() < 0.5
                if condition is not None:
                    answer = self.facts.setdefault(condition, answer)
                side = ("then", then) if answer else ("else", orelse)
                yield from self._run(side[1], (*at, side[0]))
            case Loop():
                yield from self._loop(program, at)
            case Forget(condition):
                self.facts.pop(condition, None)
            case Tick():
                self._tick(program)
            case Leave(by):
                raise Left(by)
            case Call(body, left_by):
                try:
                    yield from self._run(body, at)
                except Left as left:
                    if left.args[0] != left_by:
                        raise
            case Try():
                yield from self._try(program, at)
            case Require(cells):
                if not any(cell.deposited for _, cell in self.page.among(cells)):
                    raise Pruned

    def _do(self, event: Event, at: Position) -> Iterator[tuple[Position, Event]]:
        if self._tries and self._choice.random() < 0.15:
            raise Left("raise")
        yield at, event
        self.page, self.coarse = post(event, self.page), post(event, self.coarse)
        if isinstance(event, Step):
            self.facts[f"stepped at {event.at.path}:{event.at.line}"] = True

    def _loop(self, loop: Loop, at: Position) -> Iterator[tuple[Position, Event]]:
        rounds = self._choice.randint(loop.at_least, max(loop.at_least, 4))
        ran_out = rounds > 0
        for round_ in range(rounds):
            if loop.first is not None:
                self.facts[loop.first] = round_ == 0
            if loop.last is not None:
                self.facts[loop.last] = round_ == rounds - 1
            try:
                yield from self._run(loop.body, (*at, "round"))
            except Left as left:
                if left.args[0] == "break":
                    ran_out = False
                    break
                if left.args[0] != "continue":
                    raise
            for condition in loop.anew:
                self.facts.pop(condition, None)
            if loop.last is not None and self.facts.get(loop.last) is None:
                raise Pruned  # it was forgotten inside: nobody knows any more which round is last
        if loop.ran_out is not None:
            self.facts[loop.ran_out] = ran_out
        self.facts = {
            condition: answer
            for condition, answer in self.facts.items()
            if condition not in {*loop.anew, loop.last, loop.first}
        }

    def _tick(self, tick: Tick) -> None:
        if self.facts.get(tick.ends, True):
            starts, ends = True, False
        elif tick.long and self.facts.get(tick.starts):
            starts, ends = False, False
        else:
            starts, ends = False, self._choice.random() < 0.5
        self.facts[tick.starts], self.facts[tick.ends] = starts, ends

    def _try(self, program: Try, at: Position) -> Iterator[tuple[Position, Event]]:
        self._tries += 1
        try:
            yield from self._run(program.body, (*at, "try"))
            raised = self._choice.random() < 0.15
        except Left as left:
            if left.args[0] != "raise":
                raise
            raised = True
        finally:
            self._tries -= 1
        if raised:
            tries, self._tries = self._tries, 0
            if program.fault is not None:
                yield from self._do(program.fault, (*at, "fault"))
            self._tries = tries
            yield from self._run(program.handler, (*at, "except"))
