"""A script writes, the panel is painted at any moment, and the script's screen is as without it."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradledger.cli.panel.screen import Screen
from gradledger.cli.panel.shelf import Shelf
from tests.cli.panel.terminal import Glass
from tests.examples import examples

COLUMNS, ROWS = 40, 12


class Window:
    """A screen that is a glass."""

    def __init__(self, glass: Glass) -> None:
        self.glass = glass
        self.is_ours = True
        self.painted = 0

    def size(self) -> tuple[int, int]:
        return self.glass.columns, self.glass.lines

    def write(self, text: str) -> None:
        self.painted += 1
        self.glass.feed(text)


def shelf_on(glass: Glass) -> tuple[Shelf, Window]:
    window = Window(glass)
    return Shelf(cast(Screen, window)), window


def panel(rows: int, mark: object = "") -> list[str]:
    return [f"panel {number} {mark}" for number in range(rows)]


# What scripts write: lines, some longer than the screen, bars that are drawn over, colours.
WORDS = st.text("abcxyz ", min_size=1, max_size=COLUMNS - 5)
LINES = WORDS.map(lambda text: f"{text}\r\n")
BARS = WORDS.map(lambda text: f"\r{text}")
DOTS = st.integers(1, COLUMNS * 2).map(lambda count: "." * count)
COLOURED = WORDS.map(lambda text: f"\x1b[31m{text}\x1b[0m\r\n")
OUTPUT = st.one_of(LINES, LINES, BARS, DOTS, COLOURED, st.just("\n" * 5))


@examples(300)
@given(st.lists(st.tuples(OUTPUT, st.integers(0, 4), st.integers(0, 3)), max_size=40))
def test_the_screen_is_what_it_would_be_without_a_panel(
    happens: list[tuple[str, int, int]],
) -> None:
    plain, glass = Glass(COLUMNS, ROWS), Glass(COLUMNS, ROWS)
    shelf, _ = shelf_on(glass)
    # The number of rows is said before anything is written: to take one more in the very moment
    # when a line is full to the last column would cost that line's end.
    shelf.show(panel(4), (COLUMNS, ROWS))
    for text, rows, mark in happens:
        plain.feed(text)
        glass.feed(text)
        if rows:
            shelf.show(panel(rows, mark), (COLUMNS, ROWS))
            shown = [f"panel {n} {mark}".rstrip() for n in range(rows)] + [""] * (4 - rows)
            assert glass.rows[-4:] == shown
    assert glass.position == plain.position
    assert glass.scrolling() == (0, ROWS - 5)
    shelf.clear()
    assert glass.scrolling() is None
    assert glass.transcript == plain.transcript
    assert glass.position == plain.position


@examples(100)
@given(
    st.lists(
        st.tuples(st.one_of(LINES, BARS, st.just("\n")), st.integers(1, 5), st.booleans()),
        max_size=30,
    )
)
def test_a_panel_that_grows_takes_rows_from_below_and_scrolls_when_there_are_none(
    happens: list[tuple[str, int, bool]],
) -> None:
    plain, glass = Glass(COLUMNS, ROWS), Glass(COLUMNS, ROWS)
    shelf, _ = shelf_on(glass)
    most = 0
    for text, rows, moved in happens:
        plain.feed(text)
        glass.feed(text)
        shelf.moved = moved
        shelf.show(panel(rows, text.strip()[:8]), (COLUMNS, ROWS))
        most = max(most, rows)
        assert glass.rows[-most:][0].startswith("panel 0")
        assert glass.scrolling() == (0, ROWS - most - 1)
        # No higher than it has to be.
        assert glass.cursor.y == min(plain.position[1], ROWS - most - 1)
    shelf.clear()
    assert glass.transcript == plain.transcript
    assert glass.position == plain.position


@pytest.mark.parametrize("pulls", [False, True])
@pytest.mark.parametrize(("columns", "rows"), [(40, 8), (40, 6), (40, 20), (60, 12), (60, 20)])
@pytest.mark.parametrize("written", [2, 7, 30])
def test_a_window_that_changes_its_size_has_one_panel_and_it_is_at_the_bottom(
    columns: int, rows: int, written: int, pulls: bool
) -> None:
    glass = Glass(COLUMNS, ROWS)
    shelf, _ = shelf_on(glass)
    lines = [f"line {number}" for number in range(written + 5)]
    for line in lines[:written]:
        glass.feed(f"{line}\r\n")
        shelf.show(panel(3), glass_size(glass))
    glass.resize_window(columns, rows, pulls=pulls)
    for line in lines[written:]:
        shelf.show(panel(3), glass_size(glass))
        assert glass.rows[-3:] == ["panel 0", "panel 1", "panel 2"]
        glass.feed(f"{line}\r\n")
    assert [row for row in glass.transcript if row.startswith("panel")] == panel_rows(3)
    shelf.clear()
    assert glass.transcript == lines
    assert glass.scrolling() is None


def test_a_smaller_window_has_a_smaller_panel() -> None:
    glass = Glass(COLUMNS, ROWS)
    shelf, _ = shelf_on(glass)
    shelf.show(panel(6), (COLUMNS, ROWS))
    glass.resize_window(COLUMNS, 8)
    shelf.show(panel(3), (COLUMNS, 8))
    assert glass.scrolling() == (0, 4)
    assert glass.rows[-4:] == ["", *panel_rows(3)]


def test_what_has_not_changed_is_not_painted_again() -> None:
    shelf, window = shelf_on(Glass(COLUMNS, ROWS))
    shelf.show(["one", "two"], (COLUMNS, ROWS))
    shelf.show(["one", "two"], (COLUMNS, ROWS))
    assert window.painted == 1
    window.glass.feed(f"\x1b7\x1b[{ROWS - 1};1Hsomething else\x1b8")
    shelf.show(["one", "three"], (COLUMNS, ROWS))
    assert window.glass.rows[-2:] == ["something else", "three"]
    shelf.repaint()
    shelf.show(["one", "three"], (COLUMNS, ROWS))
    assert window.glass.rows[-2:] == ["one", "three"]


def test_rows_that_were_given_back_are_taken_anew() -> None:
    shelf, window = shelf_on(Glass(COLUMNS, ROWS))
    shelf.clear()
    shelf.show(panel(2), (COLUMNS, ROWS))
    shelf.clear()
    shelf.clear()
    assert window.painted == 2
    shelf.show(panel(2), (COLUMNS, ROWS))
    assert window.glass.rows[-2:] == panel_rows(2)
    assert window.glass.scrolling() == (0, ROWS - 3)


@pytest.mark.parametrize("rows", [5, 8, 20])
def test_a_panel_that_ends_right_after_a_change_of_size_takes_no_line_of_the_script(
    rows: int,
) -> None:
    glass = Glass(COLUMNS, ROWS)
    shelf, _ = shelf_on(glass)
    shelf.show(panel(3), (COLUMNS, ROWS))
    lines = [f"line {number}" for number in range(20)]
    glass.feed("\r\n".join(lines))
    glass.resize_window(COLUMNS, rows)
    shelf.clear()
    assert glass.transcript == lines


def test_what_others_have_left_below_the_cursor_is_wiped_when_the_screen_is_ours_again() -> None:
    glass = Glass(COLUMNS, ROWS)
    shelf, _ = shelf_on(glass)
    shelf.show(panel(2), (COLUMNS, ROWS))
    glass.feed("a line\r\nthe next\x1b7\x1b[r\x1b[5;1Hfrom an editor\x1b8")
    shelf.moved = True
    shelf.show(panel(2), (COLUMNS, ROWS))
    glass.feed(" one\r\n")
    assert glass.transcript == ["a line", "the next one", *[""] * (ROWS - 4), *panel_rows(2)]


def test_a_screen_that_somebody_else_has_taken_is_only_made_to_scroll_again() -> None:
    glass = Glass(COLUMNS, ROWS)
    shelf, window = shelf_on(glass)
    shelf.show(panel(2), (COLUMNS, ROWS))
    window.is_ours = False
    shelf.clear()
    assert glass.scrolling() is None
    assert glass.rows[-2:] == ["panel 0", "panel 1"]


def test_the_guard_knows_the_first_row_before_it_is_taken() -> None:
    told: list[tuple[int, list[str]]] = []
    glass = Glass(COLUMNS, ROWS)
    shelf = Shelf(cast(Screen, Window(glass)), lambda row: told.append((row, glass.rows[-2:])))
    shelf.show(["one"], (COLUMNS, ROWS))
    shelf.show(["one", "two"], (COLUMNS, ROWS))
    shelf.clear()
    assert told == [(ROWS, ["", ""]), (ROWS - 1, ["", "one"]), (0, ["", ""])]


def glass_size(glass: Glass) -> tuple[int, int]:
    return glass.columns, glass.lines


def panel_rows(rows: int) -> list[str]:
    return [row.rstrip() for row in panel(rows)]
