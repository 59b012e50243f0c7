from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradledger.cli.panel.course import LEVELS, MOST, Course, sparkline

NORMS = st.floats(0, allow_nan=False, allow_infinity=False)


def course(*values: float) -> Course:
    made = Course()
    for value in values:
        made.add(value)
    return made


@given(st.lists(st.floats(0), max_size=500), st.integers(0, 40))
def test_any_norms_make_a_line_of_bounded_length(values: list[float], width: int) -> None:
    points = course(*values).points
    assert len(points) < MOST
    line = sparkline(points, width)
    assert len(line) == min(width, len(points))
    assert set(line) <= set(LEVELS)


@given(st.lists(NORMS, min_size=1, max_size=2000))
def test_a_point_is_the_mean_of_equally_many_values(values: list[float]) -> None:
    points = course(*values).points
    each = 1
    while len(values) // each >= MOST:
        each *= 2
    parts = [values[n : n + each] for n in range(0, len(values) - each + 1, each)]
    means = [math.fsum(v / each for v in part) for part in parts]
    assert points == pytest.approx(means, rel=1e-9, abs=1e-300)


def test_a_norm_that_is_not_finite_is_told_and_has_no_height() -> None:
    made = course(1.0, math.inf)
    assert made.latest == math.inf
    made.add(math.nan)
    assert math.isnan(made.latest)
    assert made.points == (1.0,)


@pytest.mark.parametrize(
    ("points", "line"),
    [
        ([], ""),
        ([3.0], "▅"),
        ([3.0, 3.01, 3.0], "▅▅▅"),
        ([0.0, 0.0], "▁▁"),
        ([0.0, 1.0, 100.0], "▁▁█"),
        ([1.0, 10.0, 100.0, 10.0], "▁▅█▅"),
        ([1.0, 1.0, 8.0, 8.0, 64.0, 64.0, 1.0, 1.0], "▁▅█▁"),
    ],
)
def test_heights_are_logarithmic_and_what_hardly_changes_is_flat(
    points: list[float], line: str
) -> None:
    assert sparkline(points, 4) == line
