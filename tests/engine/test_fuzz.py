"""Any configuration is the loop by hand in float64, and resumed it is itself bit for bit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from .fuzz import Run, Training, by_hand, killed, resumed
from .loops import assert_equal, assert_same

SEEDS = range(int(os.environ.get("GRADLEDGER_FUZZ", "100")))
QUICK = 10


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """A fork has no threads but the one that made it, and OpenMP would wait for the others."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore::gradledger.errors.StepperWarning")
@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[] if s < QUICK else [pytest.mark.slow]) for s in SEEDS]
)
def test_a_configuration_is_the_loop_by_hand_and_resumed_it_is_itself(
    seed: int, tmp_path: Path
) -> None:
    training = Training.drawn(seed)
    outcome = Run.made(training).go().outcome()
    right = by_hand(training)
    if training.model != "dropout" or not any(each.fault for each in training.micros):
        assert_same({key: outcome[key] for key in right}, right, tolerance=1e-9)
    assert_equal(resumed(training, tmp_path / "saved").outcome(), outcome, f"{training}: ")
    if seed % 4 == 0:
        assert_equal(killed(training, tmp_path / "killed").outcome(), outcome, f"{training}: ")
