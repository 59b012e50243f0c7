"""Ranks that left no testimony: what is in their recordings is in the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from gradledger.cli.lost_ranks import with_recordings
from gradledger.ledger import Finding, Place, Tally
from gradledger.ledger.events import Backward, Event, Step
from gradledger.ledger.unseen import Unseen
from gradledger.ledger.verdict import Verdict
from gradledger.recording import rank_path
from gradledger.rules import ranks  # by its name `Testimony` would pass for a test
from gradledger.rules.ranks import merged
from tests.report.recorded_runs import recorded
from tests.strategies import OPENING, OWNED

G = OWNED["G"]
REUSED = Place("train.py", 11)
LATER = Finding("GL203", Place("train.py", 20), "is left over", "observed")


def record(folder: Path, rank: int, events: Iterable[Event], *, ended: bool = False) -> Path:
    path = rank_path(folder / "run.gradledger", rank=rank, world_size=2)
    return recorded(path, [*OPENING, *events], rank=rank, world_size=2, ended=ended)


def steps(n: int) -> list[Event]:
    """Nothing is cleared, so that all but the first reuse what was spent."""
    return [Backward(Place("train.py", 10), G), Step(REUSED, "G")] * n


def noted(*findings: Finding) -> ranks.Testimony:
    verdict = Verdict("train.py", findings, Tally(steps=2))
    return ranks.Testimony(verdict, [], "died", whole=False)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return record(tmp_path, 0, [], ended=True)


def test_what_a_rank_that_died_has_recorded_is_heard(own: Path, tmp_path: Path) -> None:
    record(tmp_path, 1, steps(3))
    others = with_recordings({1: noted()}, own=own, patience=600)
    verdict = merged(ranks.Testimony(Verdict("train.py"), []), others, 2)
    (found,) = verdict.findings
    assert (found.rule, found.at, found.count) == ("GL101", REUSED, 2)
    assert verdict.trouble == "rank 1 died (read up to step 2)"


def test_what_it_noted_and_could_not_record_any_more_is_heard_too(
    own: Path, tmp_path: Path
) -> None:
    record(tmp_path, 1, steps(3))
    said = with_recordings({1: noted(LATER)}, own=own, patience=600)[1]
    assert {found.rule for found in said.verdict.findings} == {"GL101", "GL203"}


def test_what_it_did_not_see_is_counted_once(own: Path, tmp_path: Path) -> None:
    path = rank_path(tmp_path / "run.gradledger", rank=1, world_size=2)
    recorded(path, OPENING, rank=1, world_size=2, ended=False, unseen=[Unseen("steps", "x", 5)])
    last = noted()._replace(verdict=Verdict("train.py", unseen=(Unseen("steps", "x", 4),)))
    said = with_recordings({1: last}, own=own, patience=600)[1]
    assert said.verdict.unseen == (Unseen("steps", "x", 5),)


def test_a_rank_on_another_machine_is_heard_by_its_recording(own: Path, tmp_path: Path) -> None:
    record(tmp_path, 1, steps(3), ended=True)
    said = with_recordings({}, own=own, patience=600)[1]
    assert [found.rule for found in said.verdict.findings] == ["GL101"]
    assert said.end == ""


def test_a_recording_without_an_end_is_not_waited_for_for_ever(own: Path, tmp_path: Path) -> None:
    record(tmp_path, 1, steps(3))
    said = with_recordings({}, own=own, patience=0)[1]
    assert said.end == "had not ended"


def test_who_has_spoken_is_believed(own: Path, tmp_path: Path) -> None:
    record(tmp_path, 1, steps(3), ended=True)
    whole = noted()._replace(end="", whole=True)
    assert with_recordings({1: whole}, own=own, patience=600) == {1: whole}


@pytest.mark.parametrize("left", ["nothing", "rubbish"])
def test_without_a_recording_what_was_noted_stands(left: str, own: Path, tmp_path: Path) -> None:
    if left == "rubbish":
        rank_path(tmp_path / "run.gradledger", rank=1, world_size=2).write_text("no recording")
    assert with_recordings({1: noted(LATER)}, own=own, patience=0) == {1: noted(LATER)}
