"""Numbers on a device that works on while nobody waits for it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gradledger.runtime.tensors import deferred_reads as readings
from gradledger.runtime.tensors.deferred_reads import Readings


class Device:
    """Copies to the CPU that arrive when a test lets them."""

    def __init__(self) -> None:
        self.done = 0
        self.copies = 0
        self.waits = 0


class Copy:
    """As `_Copy`, of a tensor that is said to be elsewhere."""

    device: Device

    def __init__(self, tensor: Tensor) -> None:
        self._number = self.device.copies
        self.device.copies += 1
        self._tensor = tensor

    @property
    def arrived(self) -> bool:
        return self._number < self.device.done

    def numbers(self) -> list[float]:
        self.device.waits += not self.arrived
        numbers: list[float] = self._tensor.tolist()
        return numbers


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    Copy.device = Device()
    monkeypatch.setattr(readings, "_Copy", Copy)
    monkeypatch.setattr(readings, "_is_here", lambda tensor: False)
    return Copy.device


def take(reading: Readings, into: list[float], number: float) -> None:
    reading.read([torch.tensor([number])], lambda numbers: into.append(numbers[0][0]))


def test_on_the_cpu_they_are_read_at_once() -> None:
    told: list[float] = []
    take(Readings(), told, 1.0)
    assert told == [1.0]


def test_elsewhere_they_are_read_in_order_once_they_have_arrived(device: Device) -> None:
    told: list[float] = []
    reading = Readings()
    for number in range(4):
        take(reading, told, number)
    assert told == []
    device.done = 2
    reading.look()
    assert told == [0.0, 1.0]
    device.done = 4
    take(reading, told, 4)
    assert told == [0.0, 1.0, 2.0, 3.0]
    assert device.waits == 0


def test_at_the_end_they_are_waited_for(device: Device) -> None:
    told: list[float] = []
    reading = Readings()
    for number in range(4):
        take(reading, told, number)
    reading.finish()
    assert told == [0.0, 1.0, 2.0, 3.0]
    assert device.waits == 4


def test_a_device_that_never_says_when_it_is_done_is_waited_for_now_and_then(
    device: Device,
) -> None:
    told: list[float] = []
    reading = Readings()
    for number in range(readings.MOST):
        take(reading, told, number)
    assert told == []
    for number in range(readings.MOST, readings.MOST + 3):
        take(reading, told, number)
    assert told == list(range(readings.MOST + 1))


def test_what_can_not_be_read_is_left_out() -> None:
    told: list[float] = []
    reading = Readings()
    take(reading, told, 1.0)
    reading.read([torch.ones(1, device="meta")], lambda numbers: told.append(numbers[0][0]))
    take(reading, told, 2.0)
    reading.finish()
    assert told == [1.0, 2.0]
