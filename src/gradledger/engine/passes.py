"""A pass over the data: draws micro-batches, and resumes a pass that was interrupted."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import torch

from gradledger.engine import randomness
from gradledger.engine.company import Company
from gradledger.engine.interrupts import HeldBack
from gradledger.engine.places import outside
from gradledger.engine.telling import announced
from gradledger.engine.wrappings import has_begun, wrapped
from gradledger.errors import CheckpointError, StepperWarning

T = TypeVar("T")

_OWN = "data "
"""What the keys of the data's own generators begin with."""


class Turns(Protocol):
    """Who is told when a micro-batch begins and ends."""

    def begin_turn(self, batch: object, *, last: bool) -> None:
        """A micro-batch was drawn. `last`: the data says that no other follows."""

    def end_turn(self) -> bool:
        """The loop is done with it; whether it was one, and counts."""

    def fail_draw(self) -> None:
        """The data raised an exception instead."""

    def end_pass(self, *, last: bool) -> None:
        """The data has ended. `last`: no other pass is around this one."""


@dataclass
class Position:
    """Where in the data training is. Right at every moment: Ctrl-C may come at any."""

    epoch: int = 0
    """Passes completed."""
    done: int = 0
    """Draws of this pass that are done with."""
    length: int | None = None
    start: dict[str, Any] | None = None
    """The random number generators as they were when this pass began; None between passes. Empty: a
    pass is under way, but its data was shared out to other ranks, and begins anew."""
    before_draw: dict[str, Any] = field(default_factory=dict)
    """torch's, as they were before the last draw; all of them would cost too much each time."""
    drawing: bool = False
    """A draw has begun. If that is so between draws, it was interrupted, and has to be made again:
    by who goes on from a state, for the data itself is past it."""
    drawn: bool = False
    """The last draw is not among those `done`."""
    comeback: Comeback | None = None
    """What was loaded, as long as no pass has made up for it."""

    def leave(self) -> None:
        """Another pass begins, and nobody comes back to this one."""
        self.done, self.start, self.drawing, self.drawn = 0, None, False, False


@dataclass(frozen=True)
class Comeback:
    """What the first pass after loading has to make up for."""

    start: dict[str, Any] | None
    now: dict[str, Any]
    length: int | None


class Pass(Generic[T]):
    """One pass over the data: an iterator that survives what its data raises."""

    def __init__(
        self,
        data: Iterable[T],
        turns: Turns,
        position: Position,
        company: Company,
    ) -> None:
        self.data = data
        self.company = company
        self._turns = turns
        self._position = position
        self.generators = [] if isinstance(data, Pass) else _own(data)
        """The data's own, where it has some. Looked for once: what is drawn to its end is empty."""
        self._iterator: Iterator[T] | None = None
        self._ended = False
        self._inner = False
        if isinstance(data, Pass):
            data._inner = True

    def __iter__(self) -> Iterator[T]:
        return self

    def __len__(self) -> int:
        return len(self.data)  # type: ignore[arg-type]

    @announced
    def __next__(self) -> T:
        position = self._position
        if self._ended:
            raise StopIteration
        if self._iterator is None:
            self._iterator = self._begin()
        else:
            self._end_turn()
        position.before_draw = randomness.capture_torch()
        if self.generators:
            position.before_draw |= _states(self.generators)
        position.drawing = True
        try:
            batch = next(self._iterator)
        except StopIteration:
            self._end_pass()
            raise
        except Exception:
            position.done, position.drawing = position.done + 1, False
            self._turns.fail_draw()
            raise
        last = position.length is not None and position.done + 1 >= position.length
        self._turns.begin_turn(batch, last=last)
        position.drawn, position.drawing = True, False
        return batch

    def _end_pass(self) -> None:
        """Counts the pass when its last window is spent: Ctrl-C may come before that."""
        try:
            self._turns.end_pass(last=not self._inner)
        except Exception:  # of that window, which is over
            self._count_pass()
            raise
        self._count_pass()

    def _count_pass(self) -> None:
        with HeldBack():
            self._position.leave()
            self._position.epoch += 1
            self._ended = True

    def _end_turn(self) -> None:
        position = self._position
        if not self._turns.end_turn() and position.drawing:
            self._turns.fail_draw()
        if position.drawing or position.drawn:
            position.done, position.drawing, position.drawn = position.done + 1, False, False

    def _begin(self) -> Iterator[T]:
        position, comeback = self._position, self._position.comeback
        if isinstance(self.data, Pass):
            if not position.start:
                position.start = randomness.capture()  # a pass is under way
            position.comeback = None
            return iter(self.data)  # which reads the data, and knows the position in it
        length = _length(self.data)
        if comeback is not None and comeback.start:
            if comeback.length != length:
                raise CheckpointError(
                    f"the data had {comeback.length} batches when this was saved, and has {length} "
                    "now, so that the place in it can't be found again."
                )
            if len(own_states(comeback.start)) != len(self.generators):
                _tell_other_data("it has other generators of its own than when this was saved")
            iterator = self._make_up(comeback.start, comeback.now)
            position.comeback = None
            return iterator
        if comeback is not None:
            if own_states(comeback.now) and has_begun(self.data):
                _tell_other_data(
                    "it has a generator of its own, and had begun before over() could set it (in "
                    "an enumerate, a zip). Put them outside: enumerate(stepper.over(loader))"
                )
            _set_own(self.generators, comeback.now)
        start = all_generators(self.generators)
        iterator = iter(self.data)
        position.leave()
        position.length, position.start, position.comeback = length, start, None
        return iterator

    def _make_up(self, start: dict[str, Any], now: dict[str, Any]) -> Iterator[T]:
        """Draws the same data again up to the position, and leaves randomness as it was there.

        Also if it fails or is interrupted: then it can be tried again, or saved as it is.
        """
        try:
            randomness.restore(start)
            _set_own(self.generators, start)
            iterator = iter(self.data)
            for _ in range(self._position.done):
                try:
                    next(iterator)
                except StopIteration:
                    raise CheckpointError(
                        f"the data ended before its batch {self._position.done}, where this was "
                        "saved. It is not the same data."
                    ) from None
                except Exception:
                    continue  # as it did the first time
        finally:
            randomness.restore(now)
            _set_own(self.generators, now)
        return iterator


def all_generators(own: list[torch.Generator]) -> dict[str, Any]:
    """The process's random number generators, and those that the data has of its own."""
    return randomness.capture() | _states(own)


def own_states(state: Mapping[str, Any]) -> dict[str, Any]:
    """Of generators, those that belong to the data."""
    return {key: value for key, value in state.items() if key.startswith(_OWN)}


def _states(generators: list[torch.Generator]) -> dict[str, Any]:
    return {f"{_OWN}{i}": generator.get_state() for i, generator in enumerate(generators)}


def _set_own(generators: list[torch.Generator], state: dict[str, Any]) -> None:
    for which, generator in enumerate(generators):
        if f"{_OWN}{which}" in state:
            generator.set_state(state[f"{_OWN}{which}"])


def _own(data: object) -> list[torch.Generator]:
    """A DataLoader's generator, and its samplers', also behind what is wrapped around it."""
    found = [getattr(holder, "generator", None) for holder in wrapped(data)]
    return list({id(g): g for g in found if isinstance(g, torch.Generator)}.values())


def _tell_other_data(why: str) -> None:
    warnings.warn(
        f"the data may not go on where this was saved: {why}.", StepperWarning, stacklevel=outside()
    )


def _length(data: object) -> int | None:
    try:
        return len(data)  # type: ignore[arg-type]
    except Exception:  # a plain `for` would not have asked
        return None
