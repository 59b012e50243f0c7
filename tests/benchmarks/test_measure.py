"""The stop-watch itself: who takes turns, what is timed, and what is kept."""

from __future__ import annotations

import subprocess
import sysconfig
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

import benchmarks.__main__ as command
from benchmarks.measure import compare, growth, rows_of, slope
from benchmarks.results import Cell, Results, Row, Table, Verdicts
from benchmarks.suites import NAMES
from benchmarks.suites.growth import grown


def test_candidates_take_turns_and_what_comes_before_is_not_timed() -> None:
    done: list[str] = []
    now = count()

    def tick() -> float:
        done.append("clock")
        return float(next(now))

    table = compare(
        "turns",
        {"a": lambda: done.append("a"), "b": lambda: done.append("b")},
        before={"b": lambda: done.append("before b")},
        rounds=2,
        clock=tick,
    )
    in_turn = ["clock", "a", "clock", "before b", "clock", "b", "clock"]
    assert done == ["a", "before b", "b", *in_turn, *in_turn]
    assert table["b"] == Row("b", 1.0, 1.0, 1.0, 1.0)


def test_a_ratio_is_the_median_of_those_of_each_round() -> None:
    # The machine was slow in one round, for both.
    rows = rows_of({"a": [1, 10, 1, 1, 1], "b": [2, 20, 3, 3, 1]}, per=2, goals={"b": 3.0})
    assert rows[1] == Row("b", 1.5, 2.0, 2.0, 3.0, goal=3.0)


@pytest.mark.parametrize("power", [0, 0.5, 1, 2])
def test_the_slope_is_the_power_by_which_the_upper_half_grows(power: float) -> None:
    x = [1.0, 10.0, 100.0, 1_000.0, 10_000.0]
    paid_once = [7.0, 8.0, *(each**power for each in x[2:])]
    assert slope(x, paid_once) == pytest.approx(power)
    assert slope(x, [*paid_once[:-1], None]) == pytest.approx(power)


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    cells = {"a": {"Stepper": Cell("holds", True, 1e-13, "in float64")}}
    tables: dict[str, Table] = {
        "cost": compare("cost", {"plain": int, "Stepper": int}, rounds=1, peers=["plain"]),
        "right": Verdicts("right", ["Stepper"], {"a": "equal parts"}, cells),
        "curve": growth("curve", "x", "ms", [1, 2, 4], {"Stepper": [1, 2, None]}),
    }
    results = Results("stepper", "The Stepper", "Loops.", tables, True, versions={"torch": "2"})
    assert Results.read(results.write(tmp_path)) == results


def test_every_benchmark_that_is_named_is_there() -> None:
    assert [name for name in NAMES if not find_spec(f"benchmarks.suites.{name}")] == []


def test_a_benchmark_that_fails_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started = []

    def run(line: list[str]) -> SimpleNamespace:
        started.append(line[-1])
        return SimpleNamespace(returncode=line[-1] == "ranks")

    monkeypatch.setattr(subprocess, "run", run)
    assert command.main(["stepper", "ranks", "ledger", "--output", str(tmp_path)]) == 1
    assert started == ["stepper", "ranks", "ledger"]
    assert "Failed, and nothing was kept of it: ranks\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["steper"], "there is no benchmark 'steper'"),
        (["--quick"], "--quick is not for publishing"),
    ],
)
def test_what_can_not_be_measured_is_told(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert words in capsys.readouterr().err


def test_a_tree_grows_to_each_number_of_lines_and_keeps_what_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages, tree = tmp_path / "packages", tmp_path / "tree"
    for number in range(10):
        file = packages / f"package{number % 2}" / f"module{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("pass\n" * 10, encoding="utf-8")
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(packages))
    seen: list[set[Path]] = []
    for lines, wanted in zip(grown(tree, [30, 100, 150]), (30, 100, 150), strict=True):
        files = {file.relative_to(tree) for file in tree.rglob("*.py")}
        assert (lines, len(files)) == (wanted, wanted // 10)
        seen.append(files)
    assert seen[0] < seen[1] < seen[2]
