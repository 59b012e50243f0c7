"""Values that a device is still computing are read when it is done, without waiting for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from gradledger.runtime.tensors.devices import here
from gradledger.runtime.tensors.norms import UNABLE

MOST = 256
"""Readings that may be under way; beyond, all are waited for, which is one wait."""

Then = Callable[[list[list[float]]], None]
"""What becomes of the numbers."""


class Readings:
    """Reads tensors: on the CPU at once, elsewhere some steps later, in the same order."""

    def __init__(self) -> None:
        self._under_way: deque[tuple[list[_Copy], Then]] = deque()

    def read(self, tensors: Sequence[Tensor], then: Then) -> None:
        """Hand the numbers in these tensors, which no one else may change, to `then`."""
        if not self._under_way and all(map(_is_here, tensors)):
            then([tensor.tolist() for tensor in tensors])
            return
        self._under_way.append(([_Copy(tensor) for tensor in tensors], then))
        self.look()

    def look(self) -> None:
        """Pass on what has arrived by now."""
        if len(self._under_way) > MOST:
            self.finish()
        while self._under_way and all(copy.arrived for copy in self._under_way[0][0]):
            self._pass_on()

    def finish(self) -> None:
        """Wait for the rest."""
        while self._under_way:
            self._pass_on()

    def _pass_on(self) -> None:
        copies, then = self._under_way.popleft()
        try:
            numbers = [copy.numbers() for copy in copies]
        except UNABLE:  # a device that has none, or is gone
            return
        then(numbers)


def _is_here(tensor: Tensor) -> bool:
    return here(tensor)


class _Copy:
    """A tensor on its way to memory where its numbers can be read."""

    def __init__(self, tensor: Tensor) -> None:
        self._there: Tensor = tensor
        self._event: torch.Event | None = None
        if _is_here(tensor):
            return
        try:
            event = torch.Event(tensor.device)
            here = torch.empty_like(tensor, device="cpu", pin_memory=True)
            here.copy_(tensor, non_blocking=True)
            event.record()
        except UNABLE:
            return  # a device without events: it is read, and waited for, when it is old enough
        self._there, self._event = here, event

    @property
    def arrived(self) -> bool:
        return _is_here(self._there) and (self._event is None or self._event.query())

    def numbers(self) -> list[float]:
        if self._event is not None:
            self._event.synchronize()
        numbers: list[float] = self._there.tolist()
        return numbers
