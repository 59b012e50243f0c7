"""Steppers that draw the same micro-batches, and so see each other's nets (Law 3).

A window is one big batch only if all its losses saw the same nets. So a net whose window of several
micro-batches is full stays where it is until every other of its company is done with the
micro-batch at hand; then all that are full move, one after the other. A window of one micro-batch
has no other loss to agree with, and moves its net at once, as an optimizer does.
"""

from __future__ import annotations

from typing import Protocol
from weakref import ref

from gradledger.engine.window import MicroBatch, Window


class Member(Protocol):
    """One of them, as far as the others look at it."""

    window: Window
    company: Company

    @property
    def patient(self) -> bool:
        """Whether its full window can wait for the others."""

    def finish(self, *, free: bool = False) -> bool:
        """Spends its window."""


class Company:
    """Those whose passes are nested, the innermost first: that one reads the data."""

    def __init__(self) -> None:
        self._members: list[ref[Member]] = []
        """Nobody lives on for the company's sake: a window is over when its Stepper is gone."""
        self.several = False

    def join(self, member: Member) -> None:
        """Its pass goes around the others'. Whatever company it kept before is over."""
        self.several = bool(self._members)
        self._members.append(ref(member))
        member.company = self

    def will_redraw(self, turn: MicroBatch) -> bool:
        """Whether who goes on from here draws the micro-batch of this turn once more."""
        if turn.complete or turn.given_up or not turn.drawn:
            return not (turn.complete or turn.given_up)
        innermost = self._present()[0].window.turn
        return innermost is not None and not innermost.complete

    def due(self, member: Member) -> list[Member]:
        """Whose windows are spent, now that this one is done with its turn.

        Who waits, waits until nobody is at work.
        """
        full = [each for each in self._present() if each.window.full]
        if any(map(_at_work, self._present())):
            return [each for each in full if each is member and not each.patient]
        return full

    def _present(self) -> list[Member]:
        """Those that have not left for another pass."""
        members = (member() for member in self._members)
        return [each for each in members if each is not None and each.company is self]


def _at_work(member: Member) -> bool:
    turn = member.window.turn
    return turn is not None and turn.drawn and not turn.complete
