"""The panel of `gradledger run --live`: drawn by a thread that the script doesn't see."""

from __future__ import annotations

import _thread
import contextlib
import os
import time
from collections.abc import Callable

from gradledger.cli.panel.facts import Facts
from gradledger.cli.panel.guard import Guard
from gradledger.cli.panel.layout import clipped, laid_out
from gradledger.cli.panel.screen import Screen
from gradledger.cli.panel.shelf import Shelf
from gradledger.report.terminal import STYLES, Line

INTERVAL = 0.25
AWAY = 2.0
"""After this many seconds without drawing, the screen may have changed (Ctrl-Z, and back)."""
ALL_AGAIN = 8
"""After this many drawings, every line is drawn again, changed or not."""
MOST_ROWS = 10
PATIENCE = 2.0
"""Seconds to wait for the last drawing: a terminal may have been stopped by Ctrl-S."""


class Panel:
    """Shows facts from `begin` to `end`. Errors here never reach the script."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._guard = Guard(screen)
        self._shelf = Shelf(screen, self._guard.first_row)
        self._folder = os.getcwd()
        self._process = os.getpid()
        self._colour = not os.environ.get("NO_COLOR")
        self._facts: Callable[[], Facts] | None = None
        # Not of `threading`: a script may count its threads, and wait until it has only one.
        self._ended, self._done = _thread.allocate_lock(), _thread.allocate_lock()
        self._painted = 0.0
        self._turn = 0
        self.failure: Exception | None = None
        """The error that ended it early, if there was one."""

    @classmethod
    def at_hand(cls) -> Panel | None:
        """A panel on the terminal of this process, if there is one."""
        screen = Screen.at_hand()
        return None if screen is None else cls(screen)

    def begin(self, facts: Callable[[], Facts]) -> None:
        """Shows facts from now on, asked for anew for each painting."""
        self._facts = facts
        self._ended.acquire()
        self._done.acquire()
        _thread.start_new_thread(self._keep, ())

    def end(self) -> None:
        """Clears the panel, and gives the terminal back as it was."""
        if os.getpid() != self._process:  # a forked child has no thread to wait for
            return
        if self._facts is not None:
            self._facts = None
            self._ended.release()
            self._done.acquire(timeout=PATIENCE)
        self._guard.dismiss()
        self._screen.close()

    def _keep(self) -> None:
        try:
            while not self._ended.acquire(timeout=INTERVAL):
                self._paint()
        except OSError:
            pass  # the terminal is gone
        except Exception as error:
            self.failure = error
        with contextlib.suppress(OSError):
            self._shelf.clear()
        self._done.release()

    def _paint(self) -> None:
        now, shelf, size = time.monotonic(), self._shelf, self._screen.size()
        if self._facts is None or not self._screen.is_ours:
            shelf.moved = True
            return
        if not any(size):
            shelf.clear()
            return
        self._turn += 1
        if self._painted and now - self._painted > AWAY:
            shelf.moved = True
        elif self._turn % ALL_AGAIN == 0:
            shelf.repaint()
        columns, rows = size
        room = columns, min(MOST_ROWS, rows // 3)
        lines = laid_out(self._facts(), size=room, folder=self._folder)
        shelf.show([self._coloured(line, columns) for line in lines], size)
        self._painted = now

    def _coloured(self, line: Line, columns: int) -> str:
        pieces = clipped(line, columns)
        if not self._colour:
            return "".join(text for text, _ in pieces)
        return "".join(f"\x1b[{_CODES[style]}m{text}\x1b[0m" for text, style in pieces)


_PARTS = {"": "0", "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_PARTS |= {"blue": "34", "cyan": "36"}
_CODES = {
    name: ";".join(_PARTS[part] for part in style.split(" ")) for name, style in STYLES.items()
}
_CODES[""] = "0"
