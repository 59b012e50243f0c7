"""The table of what is right: its measure is sound, and what it says of us is true."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
import torch

from benchmarks import trainers
from benchmarks.cases import chunks, exact, faults, micro_batches, misuse, windows
from benchmarks.results import Cell
from benchmarks.suites.correctness import WINDOWS, cell, table
from benchmarks.trainers import Batch, NotOffered, Pair, Work
from benchmarks.trainers.pacing import Paced

CASES = {**WINDOWS, **misuse.CASES}


class Fake:
    """A trainer that gets some part of the way to where the big batch leads."""

    how: ClassVar[dict[str, str]] = {"train": "as its guide says", "two": "not at all"}

    def __init__(self, part: float = 1.0) -> None:
        self.part = part

    def train(self, work: Work) -> None:
        before = [parameter.detach().clone() for parameter in work.model.parameters()]
        exact(work, chunks(list(work.data)))
        with torch.no_grad():
            for parameter, start in zip(work.model.parameters(), before, strict=True):
                parameter.lerp_(start, 1 - self.part)

    def train_two(self, pair: Pair) -> None:
        raise NotOffered("one net")

    def train_and_save(self, work: Work, count: int, folder: Path) -> None:
        raise OSError("the disk is full")

    def resume(self, work: Work, folder: Path) -> None:
        raise AssertionError


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainers, "trainer", lambda name: Fake())


@pytest.mark.parametrize("key", CASES)
def test_a_stepper_holds_in_every_row(key: str) -> None:
    assert cell("Stepper", CASES[key]).good


@pytest.mark.slow  # takes long: a framework is loaded and trains for each row
@pytest.mark.parametrize("name", [name for name in trainers.TRAINERS if "gradledger" in name])
def test_what_gradledger_has_for_a_framework_is_right_in_every_row_that_it_offers(
    name: str,
) -> None:
    cells = {key: cell(name, case) for key, case in WINDOWS.items()}
    assert [key for key, each in cells.items() if each.good is False] == []
    assert sum(each.good is True for each in cells.values()) >= 11


@pytest.mark.parametrize("key", WINDOWS)
def test_every_row_but_misuse_can_be_had_by_hand(key: str) -> None:
    measured = cell("plain loop, with every care", CASES[key])
    assert measured.verdict == "holds", measured


@pytest.mark.parametrize("key", ["b", "c", "d", "f1", "f2", "f3", "g1", "h1", "i2", "k1", "k5"])
def test_the_plain_loop_is_far_off_in(key: str) -> None:
    off = cell("plain loop", CASES[key]).value
    assert off is not None
    assert off > 0.1


@pytest.mark.parametrize("part", [0.0, 0.5, 0.999])
def test_a_trainer_is_as_far_off_as_it_falls_short_of_the_way(part: float) -> None:
    measured = windows.CASES["a"].measure(Fake(part))
    assert measured.value == pytest.approx(1 - part)
    assert not measured.good


def test_a_trainer_that_ends_where_the_big_batch_does_holds() -> None:
    assert windows.CASES["b"].measure(Fake()).verdict == "holds"


def test_weights_that_are_nan_are_no_number_of_per_cent() -> None:
    assert windows.CASES["a"].measure(Fake(float("nan"))) == Cell("weights are NaN", False)


@pytest.mark.usefixtures("fake")
def test_what_a_trainer_has_no_way_to_do_is_neither_good_nor_bad() -> None:
    assert cell("any", CASES["h1"]) == Cell("one net", None, how="not at all")


@pytest.mark.usefixtures("fake")
def test_a_trainer_that_fails_is_a_cell_that_says_so_and_not_the_end() -> None:
    measured = cell("any", CASES["g1"])
    assert (measured.verdict, measured.good) == ("raises OSError", False)
    assert measured.how == "as its guide says. the disk is full"


def test_a_trainer_that_is_not_installed_is_a_column_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = {"gone": "gone:Gone", "Stepper": "stepper:WithStepper"}
    monkeypatch.setattr(trainers, "TRAINERS", both)
    made = table("a table", {"a": CASES["a"]})
    assert made.candidates == ["gone", "Stepper"]
    assert made.cells["a"]["gone"].verdict == "not installed"
    assert made.cells["a"]["gone"].good is None
    assert made.cells["a"]["Stepper"].good
    assert list(trainers.ways()[1]) == ["gone"]


def test_a_fault_has_no_right_outcome_with_the_failed_micro_batch_in_it_but_a_new_pass() -> None:
    for at in (2, 3, 4):
        ways = faults.outcomes(at)
        assert all(ways.values())
        with_it = {way for way, windows in ways.items() if any(at in window for window in windows)}
        assert with_it == {"the pass began again"}


def test_a_backward_that_fails_half_way_leaves_one_layer_with_a_gradient_and_one_without() -> None:
    job = faults.in_backward(1)
    x, y = next(iter(job.data))
    with pytest.raises(faults.Boom):
        job.criterion(job.model(x), y).backward()  # type: ignore[no-untyped-call]
    torn = [parameter.grad is None for parameter in job.model.parameters()]
    assert torn == [True, True, False, False]


class Telling(Fake):
    """Warns in every run of the same thing, and of one thing more where it is misused."""

    runs = 0

    def train(self, work: Work) -> None:
        self.runs += 1
        warnings.warn("an old driver", stacklevel=1)
        if self.runs == 2:
            warnings.warn("cleared inside a window", stacklevel=1)


def test_misuse_that_is_warned_of_is_told() -> None:
    told = misuse.CASES["k1"].measure(Telling())
    assert (told.verdict, told.good, told.how) == ("warns", True, "cleared inside a window")


def test_misuse_that_changes_nothing_does_no_harm() -> None:
    assert misuse.CASES["k1"].measure(Fake()).verdict == "does no harm"


def test_misuse_that_nobody_tells_is_silent_and_so_far_off() -> None:
    assert misuse.CASES["k1"].measure(Fake(0.5)).verdict == "silent, 50 % off"


def test_a_paced_trainer_goes_over_the_data_once_in_each_run() -> None:
    data = micro_batches(1, 2, 3)
    sizes: list[int] = []

    def train(batches: Iterator[Batch]) -> None:
        ahead = next(batches)
        while True:
            (x, _), ahead = ahead, next(batches)
            sizes.append(len(x))
            paced.trained()

    paced = Paced(train)
    for run in (1, 2):
        paced.run(data)
        assert sizes == [1, 2, 3] * run
    with pytest.raises(ValueError, match="the same data"):
        paced.run(micro_batches(1))


def test_a_paced_trainer_that_fails_does_so_where_it_is_run() -> None:
    def train(batches: Iterator[Batch]) -> None:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        Paced(train).run(micro_batches(1))


def test_accelerate_holds_with_unequal_micro_batches_by_its_recipe_alone() -> None:
    pytest.importorskip("accelerate")
    assert cell("Accelerate", CASES["b"]).good is False
    assert cell("Accelerate, items counted", CASES["b"]).good
