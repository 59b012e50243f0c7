"""What was measured becomes a page: complete, honest about losses, and seen to be stale."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from benchmarks import headlines, publish
from benchmarks.losses import Loss, losses
from benchmarks.measure import growth
from benchmarks.plots import APART, heights, made_from, short
from benchmarks.publish import PAGE, PICTURES, Unpublishable, page, read, with_numbers
from benchmarks.results import Cell, Growth, Ratios, Results, Row, Verdicts
from benchmarks.suites import NAMES
from benchmarks.telling import section

README = "# us\n<!-- benchmarks: by a command -->\nold\n<!-- /benchmarks -->\nthe end\n"
MACHINE = {"processor": "abacus", "cores": "2", "system": "Linux", "python": "3.11.0"}
COST = Ratios(
    "an update",
    [
        Row("plain loop", 2e-3, 1.0, 1.0, 1.0),
        Row("plain loop again (the noise)", 2e-3, 0.98, 0.97, 1.02),
        Row("Stepper", 1e-3, 0.5, 0.48, 0.52, goal=0.6),
        Row("ignite", 3e-3, 1.5, 1.4, 1.6),
        Row.missing("Fabric", "can't be installed: no such version"),
    ],
    peers=["plain loop", "ignite"],
)
RIGHT = Verdicts(
    "Who is right",
    ["plain loop", "Stepper"],
    {"a": "equal parts", "b": "unequal parts"},
    {
        "a": {"plain loop": Cell("holds", True), "Stepper": Cell("holds", True)},
        "b": {
            "plain loop": Cell("39 % off", False, 0.39, "loss / 4"),
            "Stepper": Cell("holds", True),
        },
    },
)
CURVE = growth("Tensors", "tensors", "ms", [10, 100, 1_000], {"Stepper": [1, 5, 50]})


def results(**tables: Ratios | Verdicts | Growth) -> Results:
    return Results("stepper", "The Stepper", "Loops.", tables, False, MACHINE, {"torch": "2.13.0"})


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a project; pictures are drawn as text, since matplotlib is not here."""
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    monkeypatch.setattr(publish, "drawn", lambda plot: f"<svg>{made_from(plot)}</svg>")
    monkeypatch.setattr(headlines, "HEADLINES", [("time of an update", "stepper", "cost")])
    return tmp_path


def test_the_page_says_what_was_measured(snapshot: SnapshotAssertion) -> None:
    more = {"one": replace(COST, title="one update"), "two": replace(COST, title="two updates")}
    assert page([results(cost=COST, right=RIGHT, curve=CURVE, **more)]) == snapshot


def test_what_took_turns_with_the_same_others_is_one_table() -> None:
    told = section(results(one=COST, two=replace(COST, title="a second update")), "pictures")
    heads = [line for line in told.splitlines() if line.startswith("|  |")]
    assert heads == ["|  | plain loop | noise | Stepper | ignite | Fabric |"]
    assert "| an update | 2.00 ms |" in told
    assert "| a second update | 2.00 ms |" in told


def test_only_the_best_of_ours_and_the_peers_is_bold() -> None:
    faster_noise = replace(COST, rows=[*COST.rows, Row("alone (the limit)", 1e-4, 0.1, 0.1, 0.1)])
    told = section(results(cost=faster_noise), "pictures")
    assert [line for line in told.splitlines() if "**0" in line or "**1" in line] == [
        line for line in told.splitlines() if line.startswith("| Stepper")
    ]


def test_a_peer_that_is_faster_is_a_loss() -> None:
    rows = [*COST.rows[:2], Row("Stepper", 1e-3, 1.3, 1.2, 1.4), COST.rows[3]]
    assert list(losses(results(cost=replace(COST, rows=rows)))) == [
        Loss("an update", "Stepper 1.30", "plain loop 1.00")
    ]


def test_a_loss_that_the_quartiles_can_not_tell_says_so() -> None:
    rows = [*COST.rows[:2], Row("Stepper", 1e-3, 1.03, 0.97, 1.09)]
    (loss,) = losses(results(cost=replace(COST, rows=rows)))
    assert loss.remark == "within the noise"


def test_what_is_no_peer_and_what_is_as_fast_is_no_loss() -> None:
    same = Row("Stepper", 1e-3, 1.001, 0.9, 1.1)
    noise = Row("plain loop again (the noise)", 2e-3, 0.8, 0.7, 0.9)
    assert not list(losses(results(cost=replace(COST, rows=[COST.rows[0], noise, same]))))


def test_a_goal_that_is_missed_is_a_loss() -> None:
    rows = [*COST.rows[:2], replace(COST.rows[2], goal=0.4)]
    (loss,) = losses(results(cost=replace(COST, rows=rows)))
    assert (loss.ours, loss.better) == ("Stepper 0.50", "its goal, 0.40")


@pytest.mark.parametrize(
    ("goal", "remark"),
    [
        (0.3, "out of reach: forward and backward alone, 0.40"),
        (0.39, "forward and backward alone, 0.40"),  # as far as the noise lets one tell
        (0.49, "within the noise"),
    ],
)
def test_a_goal_that_is_missed_is_told_with_what_every_loop_has_to_do(
    goal: float, remark: str
) -> None:
    missed = replace(COST, rows=[*COST.rows[:2], replace(COST.rows[2], goal=goal)])
    alone = replace(
        COST, rows=[COST.rows[0], Row("forward and backward alone", 1e-3, 0.4, 0.38, 0.42)]
    )
    (loss,) = losses(results(cost=missed, parts=alone))
    assert loss.remark == remark


def test_a_case_in_which_we_are_wrong_is_a_loss_even_if_all_are() -> None:
    wrong = {"plain loop": Cell("39 % off", False), "Stepper": Cell("2 % off", False)}
    right = {**wrong, "plain loop": Cell("holds", True)}
    told = losses(results(right=replace(RIGHT, cells={"a": wrong, "b": right})))
    assert [(loss.ours, loss.better) for loss in told] == [
        ("Stepper: 2 % off", "nobody"),
        ("Stepper: 2 % off", "plain loop"),
    ]


def test_long_tables_of_verdicts_are_folded_and_their_sums_are_not() -> None:
    cases = {f"GL{number}": "" for number in range(20)}
    long = replace(RIGHT, cases=cases, cells=dict.fromkeys(cases, RIGHT.cells["b"]))
    told, folded = section(results(right=long), "pictures").split("<details>", 1)
    assert "0 of 20 | 20 of 20" in told
    assert "GL7" not in told
    assert "GL7" in folded


def test_the_names_of_lines_that_end_close_together_can_be_read() -> None:
    ends = {"a": [1, 50.0], "b": [1, 51.0], "c": [1, 49.0], "d": [1, 2.0]}
    placed = heights(growth("curve", "x", "ms", [1, 2], ends))
    assert list(placed) == ["d", "c", "a", "b"]
    above = list(placed.values())
    assert all(b - a > 0.99 * APART for a, b in pairwise(above))
    assert above[-1] <= 1


def test_large_numbers_are_short() -> None:
    assert [short(value) for value in (0.5, 30, 3_000, 2_500_000)] == ["0.5", "30", "3 k", "2.5 M"]


def test_what_was_just_published_is_not_stale(root: Path) -> None:
    measured = [results(cost=COST, curve=CURVE)]
    assert publish.publish(measured, root)
    assert publish.publish(measured, root, check=True) == []


@pytest.mark.parametrize("name", [PAGE, "README.md", f"{PICTURES}/stepper-curve.svg"])
def test_a_page_that_was_edited_is_stale_and_is_not_touched_by_a_check(
    root: Path, name: str
) -> None:
    measured = [results(cost=COST, curve=CURVE)]
    publish.publish(measured, root)
    edited = (root / name).read_text(encoding="utf-8").translate({ord("0"): "1", ord("5"): "6"})
    (root / name).write_text(edited, encoding="utf-8")
    (stale,) = publish.publish(measured, root, check=True)
    assert name in stale
    assert (root / name).read_text(encoding="utf-8") == edited


def test_another_number_makes_the_picture_stale(root: Path) -> None:
    publish.publish([results(cost=COST, curve=CURVE)], root)
    other = replace(CURVE, series={"Stepper": [1, 5, 51]})
    stale = publish.publish([results(cost=COST, curve=other)], root, check=True)
    assert f"{PICTURES}/stepper-curve.svg" in stale


def test_a_picture_of_which_there_is_no_result_goes(root: Path) -> None:
    publish.publish([results(cost=COST, curve=CURVE)], root)
    publish.publish([results(cost=COST)], root)
    assert not list((root / PICTURES).iterdir())


def test_the_readme_changes_between_its_markers_only(root: Path) -> None:
    told = with_numbers(README, [results(cost=COST)])
    assert told.startswith("# us\n<!-- benchmarks: by a command -->\n\n|")
    assert told.endswith("|\n\n<!-- /benchmarks -->\nthe end\n")
    assert "| time of an update | Stepper: **0.50** | ignite: 1.50 |" in told
    slow = replace(COST, rows=[COST.rows[0], replace(COST.rows[2], ratio=1.6), *COST.rows[3:]])
    assert "Stepper: 1.60 | ignite: **1.50** |" in with_numbers(README, [results(cost=slow)])
    with pytest.raises(Unpublishable, match="has no `<!-- benchmarks"):
        with_numbers("# us\n", [results(cost=COST)])


def test_rough_results_are_not_published(tmp_path: Path) -> None:
    for name in NAMES:
        replace(results(cost=COST), name=name, quick=name == "ranks").write(tmp_path)
    with pytest.raises(Unpublishable, match="the results of ranks are quick ones"):
        read(tmp_path)


def test_what_was_not_measured_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unpublishable, match="there are no results"):
        read(tmp_path)
    for name in NAMES:
        replace(results(cost=COST), name=name).write(tmp_path)
    assert "Not measured" not in page(read(tmp_path))
    (tmp_path / "growth.json").unlink()
    assert "Not measured yet, or not to its end: growth." in page(read(tmp_path))


def test_a_check_needs_neither_torch_nor_matplotlib() -> None:
    program = (
        "import sys, benchmarks.publish; print({'torch', 'matplotlib', 'numpy'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
