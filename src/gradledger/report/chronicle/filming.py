"""Keeps some events of a run with the state of the ledger before and after, for the player."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from gradledger.ledger.events import Backward, Event, Step
from gradledger.ledger.page import Page
from gradledger.plays.steps import SHOWN

BEFORE = 36
"""How many events before a finding are kept,"""
AFTER = 24
"""and how many after it."""
NEVER = -1


class Shot(NamedTuple):
    """An event, and the page before and after it."""

    turn: int
    event: Event
    before: Page
    after: Page


class Film:
    """Takes events in order; keeps those around one of them, or the first ones."""

    def __init__(self, wanted: int = NEVER) -> None:
        self._wanted = wanted
        self._shots: deque[Shot] = deque(maxlen=BEFORE + AFTER)
        self._left = BEFORE + AFTER if wanted == NEVER else BEFORE
        """How many more there is room for."""

    def take(self, number: int, shot: Shot) -> None:
        """Keeps the event if it is near the one that is wanted."""
        if type(shot.event) not in SHOWN:
            return
        is_before = number <= self._wanted
        if self._left <= 0 and not is_before:
            return
        last = self._shots[-1] if self._shots else None
        if last is not None and _continues(shot.event, last.event):
            self._shots[-1] = last._replace(after=shot.after)
            return
        if is_before and len(self._shots) == BEFORE:
            self._shots.popleft()
        self._shots.append(shot)
        self._left = AFTER if is_before else self._left - 1

    @property
    def shots(self) -> tuple[Shot, ...]:
        """The kept events, in order."""
        return tuple(self._shots)


def _continues(event: Event, last: Event) -> bool:
    """True if the event is another part of the same call."""
    is_piece = (isinstance(event, Backward) and event.continues) or (
        isinstance(event, Step) and event.within
    )
    return is_piece and type(event) is type(last) and event.at == last.at
