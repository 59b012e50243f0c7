"""Announcements: code that performs the cycle itself (the Stepper) reports its events here.

The Stepper adds gradients up where no hook on `.grad` can see them. So it tells what it does, in
the ledger's own words, and whoever watches torch looks away meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Literal, Protocol

from gradledger.ledger.events import CellNames, Event
from gradledger.ledger.places import Place

Role = Literal["optimizer", "scaler", "scheduler"]


class Listener(Protocol):
    """Somebody who keeps books, and has names for the things in them."""

    def looking_away(self) -> AbstractContextManager[None]:
        """What happens to gradients inside will be told."""

    def here(self) -> Place:
        """Where the user's program is now."""

    def cells(self, parameters: Iterable[object]) -> CellNames:
        """What the cells of these parameters are called."""

    def name(self, role: Role, player: object) -> str:
        """What an optimizer, a scaler or a scheduler is called."""

    def hear(self, event: Event) -> None:
        """Takes an event down."""

    @property
    def measures(self) -> bool:
        """Whether it needs to know how much is spent."""

    def loss(self, value: object, items: float) -> None:
        """The next `Backward` is of this loss, of so many items; None: a loss that isn't known."""

    def spends(self, optimizer: object, gradients: Mapping[object, object], factor: float) -> None:
        """An optimizer is about to spend these gradients, by parameter, each times the factor.

        They may be looked at during the call. Where they are not there all at a time, it is made
        several times; the `Step` comes behind the last.
        """


listeners: list[Listener] = []
"""Empty nearly always: look before computing anything to tell."""


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Inside, the listener hears all that is announced."""
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)


@contextmanager
def performing() -> Iterator[None]:
    """Inside, gradients are moved by somebody who announces it."""
    with ExitStack() as looking_away:
        for listener in listeners:
            looking_away.enter_context(listener.looking_away())
        yield
