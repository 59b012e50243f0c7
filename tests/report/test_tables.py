"""Tables in CSV: for spreadsheets, which obey what looks like a formula, and for data frames."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from gradledger.recording import Recording
from gradledger.report.chronicle import together, told
from gradledger.report.tables import TABLES, Source, write
from gradledger.report.tables.comma_separated import write_rows
from tests.report import recorded_runs as runs
from tests.report.recorded_runs import recorded

Rows = list[dict[str, str]]


def text_of(name: str, *paths: Path) -> str:
    stream = io.StringIO(newline="")
    with ExitStack() as stack:
        opened = [stack.enter_context(Recording(path)) for path in paths]
        ranks = [(told(recording), recording) for recording in opened]
        verdict = together([chronicle for chronicle, _ in ranks])
        write(name, Source(ranks, verdict), stream)
    return stream.getvalue()


def rows_of(name: str, *paths: Path) -> Rows:
    return list(csv.DictReader(io.StringIO(text_of(name, *paths), newline=""), strict=True))


@pytest.mark.parametrize("table", TABLES)
def test_every_table_of_a_run_in_which_everything_happens(
    table: str, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    path = recorded(
        tmp_path / "run.gradledger",
        runs.scaled(),
        script="amp.py",
        called={"optimizer-1": "self.opt"},
        measures=runs.norms("optimizer-1", [1.5, math.nan], ["layers.0.weight"]),
    )
    assert text_of(table, path).replace("\r\n", "\n") == snapshot


@pytest.mark.parametrize("table", TABLES)
def test_an_empty_recording_has_every_table_with_its_columns(table: str, tmp_path: Path) -> None:
    text = text_of(table, recorded(tmp_path / "run.gradledger", []))
    assert text.split("\r\n")[0] == ",".join(TABLES[table].columns)
    assert len(rows_of(table, tmp_path / "run.gradledger")) == (table == "ranks")


@pytest.mark.parametrize("table", TABLES)
def test_no_column_has_the_name_of_another(table: str) -> None:
    assert len(set(TABLES[table].columns)) == len(TABLES[table].columns)


def test_two_ranks_stand_in_one_table(tmp_path: Path) -> None:
    paths = [
        recorded(tmp_path / f"run.rank{n}.gradledger", runs.gan(2), rank=n, world_size=2)
        for n in range(2)
    ]
    rows = rows_of("windows", *paths)
    assert [row["rank"] for row in rows] == ["0"] * 4 + ["1"] * 4


def test_windows_count_steps_for_each_optimizer(tmp_path: Path) -> None:
    rows = rows_of("windows", recorded(tmp_path / "run.gradledger", runs.gan(2)))
    counted = [(row["optimizer"], row["step"], row["deposits"], row["items"]) for row in rows]
    assert counted == [
        ("optimizer-1", "1", "1", "16"),
        ("optimizer-2", "1", "2", "32"),
        ("optimizer-1", "2", "1", "16"),
        ("optimizer-2", "2", "2", "32"),
    ]


def test_measures_stand_at_the_steps_of_the_windows_table(tmp_path: Path) -> None:
    """The second step was skipped, so the second norm is of the third."""
    path = recorded(
        tmp_path / "run.gradledger",
        runs.scaled(),
        measures={("gradient norm", "optimizer-1", ""): [1.5, 2.5]},
    )
    measured = {row["step"]: row["value"] for row in rows_of("measures", path)}
    assert measured == {"1": "1.5", "3": "2.5"}
    in_windows = {row["step"]: row["gradient_norm"] for row in rows_of("windows", path)}
    assert in_windows == {"1": "1.5", "2": "", "3": "2.5"}


def test_parameters_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    measures = runs.norms("optimizer-1", [1.0], sorted(runs.WEIGHTS))
    path = recorded(tmp_path / "run.gradledger", runs.accumulation(), measures=measures)
    names = [row["parameter"] for row in rows_of("measures", path)][:4]
    assert names == ["", "layers.0.weight", "layers.2.weight", "layers.10.weight"]


def test_optimizers_of_one_name_are_told_apart(tmp_path: Path) -> None:
    path = recorded(
        tmp_path / "run.gradledger",
        runs.gan(1),
        called={"optimizer-1": "optimizer", "optimizer-2": "optimizer"},
    )
    names = {row["optimizer"] for row in rows_of("windows", path)}
    assert names == {"optimizer (optimizer-1)", "optimizer (optimizer-2)"}


@pytest.mark.parametrize("table", TABLES)
def test_no_cell_of_a_hostile_run_is_a_formula(table: str, tmp_path: Path) -> None:
    path = recorded(
        tmp_path / "run.gradledger",
        runs.accumulation((2, 2), clears=False),
        script=f"{runs.HOSTILE}.py",
        argv=["-c", "=1+1"],
        called={"optimizer-1": runs.HOSTILE},
        measures=runs.norms("optimizer-1", [-1.0, -math.inf], ["@SUM(A1)"]),
    )
    text = text_of(table, path)
    assert text.encode("utf-8").decode("utf-8") == text
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert {len(row) for row in rows} == {len(TABLES[table].columns)}
    for cell in (cell for row in rows for cell in row if cell):
        assert cell[0] not in "=+-@\t\r\n" or cell in ("-1.0", "-inf", "-0.001")


def test_the_hostile_name_is_still_readable(tmp_path: Path) -> None:
    path = recorded(
        tmp_path / "run.gradledger",
        runs.accumulation((1,)),
        measures=runs.norms("optimizer-1", [1.0], ["=cmd|' /C calc'!A0"]),
    )
    names = {row["parameter"] for row in rows_of("measures", path)}
    assert names == {"", "'=cmd|' /C calc'!A0"}


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2))
def test_a_reader_gets_what_was_written(cells: list[str]) -> None:
    stream = io.StringIO(newline="")
    write_rows(["a"] * len(cells), [cells], stream)
    _, read = csv.reader(io.StringIO(stream.getvalue(), newline=""), strict=True)
    for cell, got in zip(cells, read, strict=True):
        assert got in (cell, f"'{cell}")


@given(st.floats())
def test_a_number_keeps_its_last_bit(number: float) -> None:
    stream = io.StringIO(newline="")
    write_rows(["number"], [[number]], stream)
    got = float(stream.getvalue().split("\r\n")[1])
    assert got == number or math.isnan(number)


def test_rows_are_written_as_they_are_made() -> None:
    """A table may be larger than memory."""
    stream = io.StringIO(newline="")

    def rows() -> Iterator[list[int]]:
        for number in range(3):
            assert stream.getvalue().count("\r\n") == number + 1
            yield [number]

    write_rows(["number"], rows(), stream)
    assert stream.getvalue().count("\r\n") == 4


def test_a_file_is_utf8_with_the_formats_own_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with open(path, "w", encoding="ascii", newline="\r") as stream:
        write_rows(["größe"], [["naïve 数"]], stream)
    assert path.read_bytes() == "größe\r\nnaïve 数\r\n".encode()
