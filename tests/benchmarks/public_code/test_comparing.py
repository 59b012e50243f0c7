"""Two checkouts on the same repositories: what differs is told, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.public_code.__main__ import main
from benchmarks.public_code.checkouts import save
from benchmarks.public_code.comparing import NOT_UNKNOWN, difference, told
from tests.benchmarks.public_code.trees import (
    checked,
    found,
    report,
    repository,
    row,
    saying,
    unfollowed,
)


def test_a_finding_is_gained_or_lost() -> None:
    both = found("GL203", 3)
    what = difference(
        [checked(both, found("GL101", 7))], [checked(both, found("GL301", 5), found("GL301", 9))]
    )
    assert [each.place.line for each in what.gained] == [5, 9]
    assert [each.rule for each in what.lost] == ["GL101"]
    assert what.changed == ()


def test_a_finding_of_another_certainty_has_changed() -> None:
    what = difference(
        [checked(found("GL101", 7))], [checked(found("GL101", 7, certainty="possible"))]
    )
    assert (what.gained, what.lost) == ((), ())
    assert str(what.changed[0]) == "GL101 a__b train.py:7 certainty: certain -> possible"


def test_one_finding_that_stands_elsewhere_in_its_file_has_moved() -> None:
    what = difference([checked(found("GL101", 7))], [checked(found("GL101", 9))])
    assert str(what.changed[0]) == "GL101 a__b train.py:9 line: 7 -> 9"
    other = difference([checked(found("GL101", 7))], [checked(found("GL101", 7, path="b.py"))])
    assert (len(other.gained), len(other.lost), other.changed) == (1, 1, ())


def test_a_root_that_is_unknown_no_more_or_for_another_reason_is_told() -> None:
    old = checked(unknown=(unfollowed("f()", "long"), unfollowed("g()", "deep")), followed=1)
    new = checked(unknown=(unfollowed("g()", "odd"), unfollowed("h()", "long", 9)), followed=2)
    states = {root.what: (root.old, root.new) for root in difference([old], [new]).roots}
    assert states == {
        "f()": ("unknown, long", NOT_UNKNOWN),
        "g()": ("unknown, deep", "unknown, odd"),
        "h()": (NOT_UNKNOWN, "unknown, long"),
    }
    assert difference([old], [old]).roots == ()


def test_a_crash_is_no_loss_of_findings() -> None:
    what = difference([checked(found("GL101", 7))], [checked(failure="ended with status 1")])
    assert (what.lost, what.failures) == ((), (("a__b", "", "ended with status 1"),))
    assert "  a__b: done -> ended with status 1" in list(told(what))


def test_costs_are_added_up() -> None:
    what = difference([checked(seconds=1.5, followed=1)], [checked(seconds=2.25, followed=3)])
    assert what.total() == {
        "old_seconds": 1.5,
        "new_seconds": 2.25,
        "old_followed": 1,
        "new_followed": 3,
    }


def test_the_command_compares_a_saved_run_with_a_checkout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(tmp_path / "code", "a__b")
    save([checked(found("GL203", 3))], tmp_path / "old.json")
    new = saying(tmp_path / "new", report(row("GL101", 7)))
    words = ["compare", str(tmp_path / "old.json"), str(new), str(tmp_path / "code")]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "Findings gained: 1",
        "  GL101 a__b train.py:7 error, certain: what: how",
    ]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["rule"] for each in document["lost"]] == ["GL203"]
    assert document["total"]["new_followed"] == 2


def test_what_is_no_checkout_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(tmp_path), str(tmp_path), str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "is no checkout of gradledger" in line
