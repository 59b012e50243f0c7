"""A terminal to look at: pyte is its screen, and a pty its line, where a process is at the end."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyte

PATIENCE = 45.0
"""Seconds until a test gives up. Nothing takes that long unless it hangs."""


class Glass(pyte.HistoryScreen):
    """What is seen on a terminal, and what has scrolled away. It does what xterm does."""

    def __init__(self, columns: int = 60, lines: int = 12) -> None:
        super().__init__(columns, lines, history=100_000)
        self._stream = pyte.ByteStream(self)

    def feed(self, text: str | bytes) -> None:
        self._stream.feed(text.encode() if isinstance(text, str) else text)

    def restore_cursor(self) -> None:
        """pyte forgets that a line is full, and that the next character begins a new one."""
        full = bool(self.savepoints) and self.savepoints[-1].cursor.x == self.columns
        super().restore_cursor()
        if full:
            self.cursor.x = self.columns

    def resize_window(self, columns: int, lines: int, *, pulls: bool = False) -> None:
        """Somebody drags its corner. `pulls`: rows from above come back, as in GNOME's terminal."""
        gone = max(self.cursor.y + 1 - lines, 0)
        back = min(lines - self.lines, len(self.history.top)) if pulls and lines > self.lines else 0
        rows = [self.history.top.pop() for _ in range(back)][::-1]
        rows += [self.buffer[number] for number in range(self.lines)]
        self.history.top.extend(rows[:gone])
        kept = rows[gone : gone + lines]
        self.buffer.clear()
        self.buffer.update(enumerate(kept))
        x, y = self.cursor.x, self.cursor.y - gone + back
        self.lines, self.columns = lines, columns
        self.set_margins()
        self.cursor.x, self.cursor.y = min(x, columns - 1), y

    def scrolling(self) -> tuple[int, int] | None:
        """The first and the last row that scroll; None: all do."""
        return self.margins

    @property
    def rows(self) -> list[str]:
        """What is on it now, without the spaces at the end of rows."""
        return [row.rstrip() for row in self.display]

    @property
    def transcript(self) -> list[str]:
        """All that was ever on it, without empty rows at the end."""
        above = ["".join(row[n].data for n in range(self.columns)) for row in self.history.top]
        rows = [row.rstrip() for row in (*above, *self.display)]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    @property
    def position(self) -> tuple[int, int]:
        """Where the cursor is: the column, and the row of the transcript."""
        return self.cursor.x, len(self.history.top) + self.cursor.y


class Terminal:
    """A process in a terminal of its own."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        at: Path,
        columns: int = 80,
        rows: int = 24,
        environment: Mapping[str, str] | None = None,
        stdout: int | None = None,
    ) -> None:
        self.glass = Glass(columns, rows)
        self.received = b""
        self.status: int | None = None
        self._command = list(command)
        self.pid, self._line = pty.fork()
        if not self.pid:
            try:
                self.set_size(0, columns, rows)
                os.chdir(at)
                if stdout is not None:
                    os.dup2(stdout, 1)
                os.execve(sys.executable, self._command, dict(environment or os.environ))
            finally:
                os._exit(70)

    def until(self, seen: Callable[[Glass], Any], what: str = "what was waited for") -> None:
        """Reads on until it is there."""
        end = time.monotonic() + PATIENCE
        while not seen(self.glass):
            shown = "\n".join(self.glass.rows)
            assert time.monotonic() < end, f"no {what} in time on\n{shown}"
            assert self._read(), f"it ended without {what}, with\n{shown}"

    def finish(self) -> int:
        """Reads to the end. Its exit status, or minus the signal that ended it."""
        end = time.monotonic() + PATIENCE
        while self._read():
            assert time.monotonic() < end, "it does not end"
        return self.wait()

    def wait(self) -> int:
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def type(self, keys: bytes) -> None:
        os.write(self._line, keys)

    def resize(self, columns: int, rows: int) -> None:
        self.glass.resize_window(columns, rows)
        self.set_size(self._line, columns, rows)

    @staticmethod
    def set_size(line: int, columns: int, rows: int) -> None:
        fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self) -> bool:
        ready, _, _ = select.select([self._line], [], [], 1.0)
        if not ready:
            return True
        try:
            data = os.read(self._line, 65536)
        except OSError:  # nobody has the terminal open any more
            data = b""
        self.received += data
        self.glass.feed(data)
        return bool(data)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        os.close(self._line)
