"""Rows at the bottom of a screen that the script's output does not scroll into.

A terminal scrolls a region of its rows (DECSTBM), usually all. The shelf takes the last ones out of
it. The script goes on writing where it wrote, and does not notice: each painting saves the cursor,
with its colours, and puts it back, in one write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradledger.cli.panel.screen import Screen

SAVE, RESTORE = "\x1b7", "\x1b8"
SCROLL_ALL = "\x1b[r"
DOWN = "\x1bD"
"""Down a row, in the same column; at the bottom the screen scrolls."""
ERASE_BELOW, ERASE_REST = "\x1b[J", "\x1b[K"
BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"
"""Show nothing in between. A terminal that does not know this passes over it."""
PLAIN = "\x1b[0m"


class Shelf:
    """As many rows as there are lines to show; a row that was taken is kept, as long as it fits."""

    def __init__(self, screen: Screen, taken: Callable[[int], None] = lambda first: None) -> None:
        self._screen = screen
        self._taken = taken
        """Told which row is its first, before it is; 0: there is none any more."""
        self._size = 0, 0
        self._lines: list[str] = []
        self.moved = False
        """Its position on the screen is unknown: another program has drawn, or scrolled."""

    def show(self, lines: Sequence[str], size: tuple[int, int]) -> None:
        """Puts the lines there. Those that have not changed are not painted again."""
        kept = len(self._lines) if size == self._size else 0
        lines = [*lines, *[""] * (kept - len(lines))]
        rows = size[1]
        first = rows - len(lines) + 1
        text, known = "", self._lines
        if self.moved or size != self._size or len(lines) != len(known):
            self._taken(first)
            text = self._room(len(lines), erased=bool(known) and (self.moved or size != self._size))
            known = []
        changed = [n for n, line in enumerate(lines) if known[n : n + 1] != [line]]
        if not changed:
            return
        painted = "".join(f"\x1b[{first + n};1H{PLAIN}{lines[n]}{ERASE_REST}" for n in changed)
        # The region is set again each time, should anybody have reset it. It sends the cursor home.
        text += f"{SAVE}\x1b[1;{first - 1}r{painted}{RESTORE}"
        self._screen.write(f"{BEGIN}{text}{END}")
        self._lines, self._size, self.moved = lines, size, False

    def _room(self, rows: int, *, erased: bool) -> str:
        """All of the screen scrolls, and so many rows are below the cursor."""
        text = f"{SAVE}{SCROLL_ALL}{RESTORE}{DOWN * rows}\x1b[{rows}A"
        # What was painted before is somewhere below the line that the script is writing.
        return f"{text}{SAVE}\x1b[B\r{PLAIN}{ERASE_BELOW}{RESTORE}" if erased else text

    def repaint(self) -> None:
        """Next time, all lines: a script may have cleared the screen."""
        self._lines = ["\0"] * len(self._lines)

    def clear(self) -> None:
        """Gives the rows back. The cursor stays where the script has it."""
        if not self._lines:
            return
        if not self._screen.is_ours:  # what is on it is not ours, either
            text = f"{SAVE}{SCROLL_ALL}{RESTORE}"
        elif self.moved or self._screen.size() != self._size:
            text = self._room(1, erased=True)
        else:
            text = cleared(self._size[1] - len(self._lines) + 1)
        self._screen.write(f"{BEGIN}{text}{END}")
        self._lines, self._size, self.moved = [], (0, 0), False
        self._taken(0)


def cleared(first: int | str) -> str:
    """All of the screen scrolls again, and is empty from that row on."""
    return f"{SAVE}{SCROLL_ALL}\x1b[{first};1H{PLAIN}{ERASE_BELOW}{RESTORE}"
