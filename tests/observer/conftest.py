from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from gradledger.ledger.events import Event, Own
from tests.observer import Observation, observe

Observe = Callable[[str], Observation]

MODEL = """\
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y = torch.randn(8, 3), torch.randn(8, 1)
"""
"""The first six lines of most programs here."""

ALL = frozenset({"model.weight", "model.bias"})


def told(seen: Observation) -> list[Event]:
    """The events after the optimizer was made."""
    made = next(i for i, event in enumerate(seen.events) if isinstance(event, Own))
    return list(seen.events[made + 1 :])


def lines(seen: Observation) -> list[tuple[str, int]]:
    """Name and line of each of them."""
    return [(type(event).__name__, event.at.line) for event in told(seen)]


def only(seen: Observation, kind: type[Event]) -> Any:
    """The one event of a kind."""
    (event,) = (event for event in seen.events if type(event) is kind)
    return event


@pytest.fixture
def program(tmp_path: Path) -> Observe:
    """Observe a program that is given as text."""

    def run(text: str) -> Observation:
        path = tmp_path / "program.py"
        path.write_text(dedent(text), encoding="utf-8")
        return observe(path)

    return run


@pytest.fixture
def loop(program: Observe) -> Observe:
    """Observe what comes after `MODEL`: its first line is line 7."""

    def run(text: str) -> Observation:
        return program(MODEL + dedent(text).lstrip("\n"))

    return run
