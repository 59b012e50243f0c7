"""Questions to a device: all of a step in one copy, answered some steps later, without waiting."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gradledger.runtime.tensors.deferred_reads import Readings
from gradledger.runtime.tensors.norms import UNABLE

Answer = Callable[[list[float]], None]

MOST = 64
"""Questions that wait for a step. Where none comes, they are copied by themselves."""


class DeviceQueries:
    """Reads small tensors some steps after they were asked for, in the order of asking."""

    def __init__(self) -> None:
        self._asked: list[tuple[Tensor, Answer]] = []
        self._readings = Readings()

    def ask(self, numbers: Tensor, answer: Answer) -> None:
        """Hand the numbers in this flat tensor to `answer`, once they are here."""
        if not numbers.is_meta:
            self._asked.append((numbers.float(), answer))
            if len(self._asked) >= MOST:
                self.send()

    def send(self) -> None:
        """A step has ended: send all that was asked in it, and answer what has arrived."""
        asked, self._asked = self._asked, []
        devices = {numbers.device for numbers, _ in asked}
        for device in devices:
            there = [(n, answer) for n, answer in asked if n.device == device]
            try:
                joined = torch.cat([numbers for numbers, _ in there])
            except UNABLE:
                continue
            sizes = [numbers.numel() for numbers, _ in there]
            self._readings.read([joined], _divided(sizes, [answer for _, answer in there]))
        if not devices:
            self._readings.look()

    def finish(self) -> None:
        """Wait for all answers: the program has ended."""
        self.send()
        self._readings.finish()


def _divided(sizes: list[int], answers: list[Answer]) -> Callable[[list[list[float]]], None]:
    def divide(read: list[list[float]]) -> None:
        (numbers,) = read
        start = 0
        for size, answer in zip(sizes, answers, strict=True):
            answer(numbers[start : start + size])
            start += size

    return divide
