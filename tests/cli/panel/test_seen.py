from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gradledger.cli.panel import seen as seen_module
from gradledger.cli.panel.facts import Facts, Lane
from gradledger.cli.panel.seen import Notes, Seen
from gradledger.ledger.book import Book
from gradledger.ledger.events import Backward, Clear, Event, Own, Skipped, Step
from gradledger.ledger.places import Place
from gradledger.rules import YIELDS_TO, judge

CELLS = frozenset({"w", "b"})


def at(line: int) -> Place:
    return Place("train.py", line)


OWN = Own(at(1), "optimizer-1", CELLS)
BACKWARD, STEP, CLEAR = Backward(at(2), CELLS), Step(at(3), "optimizer-1"), Clear(at(4), CELLS)


class Run:
    """Events, at times that a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        self.now = 100.0
        monkeypatch.setattr(seen_module, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.book = Book(judge, yields_to=YIELDS_TO)
        self.notes = Notes(self.book)
        kept = options.pop("kept", frozenset({"GL101", "GL201", "GL202"}))
        self.seen = Seen(self.notes, "train.py", kept=kept, **options)

    def post(self, *events: Event) -> None:
        for event in events:
            self.notes.foresee(event)
            self.notes.hear(event, self.book.post(event))

    def measured(self, name: str, total: float | None) -> None:
        told: Any = SimpleNamespace(name=name, optimizer="optimizer-1", total=total)
        self.notes.measured(told)

    def facts(self, **names: str) -> Facts:
        return self.seen.facts({"optimizer-1": "opt"})

    def lane(self) -> Lane:
        (lane,) = self.facts().lanes
        return lane


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch)


def test_before_anything_happens_there_is_nothing_to_show(run: Run) -> None:
    run.now += 5
    assert run.facts() == Facts("train.py", 5.0)


def test_an_optimizer_that_was_made_is_there_before_its_first_step(run: Run) -> None:
    run.post(OWN, BACKWARD)
    assert run.lane() == Lane("opt", gathered=1)


def test_a_window_is_what_the_latest_step_spent_and_what_has_come_since(run: Run) -> None:
    run.post(OWN, *[BACKWARD, BACKWARD, BACKWARD, STEP, CLEAR] * 2, BACKWARD)
    lane = run.lane()
    assert (lane.steps, lane.window, lane.gathered) == (2, 3, 1)


def test_what_was_spent_before_is_not_of_this_window(run: Run) -> None:
    run.post(OWN, BACKWARD, BACKWARD, STEP, BACKWARD, STEP)
    assert run.lane().window == 1


def test_skipped_steps_are_counted_apart(run: Run) -> None:
    run.post(OWN, BACKWARD, Skipped(at(3), "optimizer-1", "scaler-1"), CLEAR, BACKWARD, STEP)
    lane = run.lane()
    assert (lane.steps, lane.skipped) == (1, 1)


def test_a_speed_is_that_of_the_last_ten_seconds_and_takes_one_to_be_known(run: Run) -> None:
    run.post(OWN)
    assert run.lane().per_second is None
    for _ in range(40):
        run.now += 1
        run.post(BACKWARD, STEP, CLEAR)
        run.lane()
    assert run.lane().per_second == pytest.approx(1.0, rel=0.1)
    for _ in range(40):
        run.now += 0.5
        run.post(*[BACKWARD, STEP, CLEAR] * 2)
        run.lane()
    assert run.lane().per_second == pytest.approx(4.0, rel=0.1)


def test_findings_come_once_with_their_latest_count_and_as_selected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run(monkeypatch, kept=frozenset({"GL101"}))
    run.post(OWN, CLEAR, Step(at(9), "optimizer-1"), *[BACKWARD, STEP] * 5)
    assert run.book.findings != run.facts().findings
    assert [(f.rule, f.at, f.count) for f in run.facts().findings] == [("GL101", at(3), 4)]


def test_a_symptom_gives_way_to_its_cause_as_it_does_in_the_verdict(run: Run) -> None:
    run.post(OWN, BACKWARD, STEP, BACKWARD, STEP, CLEAR, BACKWARD, CLEAR)
    assert {f.rule for f in run.facts().findings} == {
        f.rule for f in run.book.findings if f.rule in ("GL101", "GL201", "GL202")
    }


def test_norms_are_those_of_whole_optimizers(run: Run) -> None:
    run.post(OWN, BACKWARD, STEP)
    assert run.lane().norm is None
    run.measured("gradient norm", 2.0)
    run.measured("update ratio", 0.1)
    run.measured("gradient norm", 4.0)
    run.measured("gradient norm", None)
    lane = run.lane()
    assert (lane.norm, lane.course) == (4.0, (2.0, 4.0))


def test_norms_that_nobody_comes_for_do_not_pile_up(run: Run) -> None:
    for number in range(seen_module.MOST_WAITING * 2):
        run.measured("gradient norm", float(number))
    assert len(run.notes.norms) == seen_module.MOST_WAITING
