from __future__ import annotations

import base64
import math
from array import array
from dataclasses import replace

import pytest

from gradledger.report.chronicle import Chronicle
from gradledger.report.page import measures
from gradledger.report.page.measures import NORM, RATIO, document, heats, lines
from tests.report.page import scenes


def measured(values: list[float], *, cells: tuple[str, ...] = ("",), name: str = NORM) -> Chronicle:
    turns = array("L", range(len(values)))
    chronicle = scenes.plain(len(values))
    known = {(name, 0, cell): (turns, array("d", values)) for cell in cells}
    return replace(chronicle, measures=known)


def test_a_line_has_four_digits_of_each_number() -> None:
    (line,), binned = lines([measured([0.123456, 1234567.0])], NORM)
    assert line.values == [0.1235, 1235000.0]
    assert line.turns == [0, 1]
    assert not binned


def test_what_is_not_finite_is_a_gap() -> None:
    (line,), _ = lines([measured([1.0, math.nan, math.inf, 2.0])], NORM)
    assert line.values == [1.0, None, None, 2.0]


def test_of_too_many_points_the_largest_of_each_stretch_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measures, "POINTS", 10)
    values = [1.0] * 100
    values[37] = 50.0
    (line,), binned = lines([measured(values)], NORM)
    assert binned
    assert len(line.values) == 10
    assert (line.turns[3], line.values[3]) == (37, 50.0)


def test_nothing_measured_is_nothing_to_draw() -> None:
    assert document([scenes.plain(4)], "no such number") is None


def test_more_layers_than_rows_are_grouped_by_module() -> None:
    names = tuple(f"blocks.{n}.{part}" for n in range(40) for part in ("weight", "bias"))
    (heat,) = heats([measured([3.0] * 8, cells=names)], NORM)
    assert heat.rows == [f"blocks.{n}.*" for n in range(40)]
    assert heat.cells[0][0] == pytest.approx(math.log10(math.hypot(3, 3)))


def test_of_a_modules_ratios_the_largest_counts() -> None:
    names = tuple(f"blocks.{n}.{part}" for n in range(40) for part in ("weight", "bias"))
    (heat,) = heats([measured([3.0] * 8, cells=names, name=RATIO)], RATIO)
    assert heat.cells[0][0] == pytest.approx(math.log10(3))


def test_layers_without_modules_share_rows() -> None:
    names = tuple(f"p{n:03}" for n in range(200))
    (heat,) = heats([measured([3.0] * 8, cells=names)], NORM)
    assert len(heat.rows) <= measures.ROWS
    assert heat.rows[0] == "p000 to p003"


def test_a_heat_map_has_a_byte_for_each_cell_and_none_for_nothing() -> None:
    made = document([measured([1e-3, 0.0, 0.0, 0.0, 10.0], cells=("a", "b"))], NORM)
    assert made is not None
    (heat,) = made["heats"]
    cells = base64.b64decode(heat["cells"])
    assert (heat["low"], heat["high"], heat["columns"]) == (-3, 1, 6)
    assert cells == bytes([1, 0, 0, 0, 255, 255]) * 2


def test_a_value_stands_while_other_optimizers_take_their_turns() -> None:
    chronicle = replace(
        scenes.plain(12),
        measures={(NORM, 0, "a"): (array("L", [0, 2, 4]), array("d", [1.0, 1, 1]))},
    )
    (heat,) = heats([chronicle], NORM)
    known = [value is not None for value in heat.cells[0]]
    # After the last, none was due for long: it stands for one more gap, and then there is nothing.
    assert known == [True] * 2 + [True] * 6 + [False] * 5
