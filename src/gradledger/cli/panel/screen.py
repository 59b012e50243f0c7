"""The terminal that the panel is painted on, by a descriptor of our own."""

from __future__ import annotations

import contextlib
import os
import sys

from gradledger.cli.delivery import identity

if sys.platform != "win32":
    import termios

NOT_PAINTED_ON = ("", "dumb", "unknown", "emacs")
_SIGNS = "─·…▁▂▃▄▅▆▇█"
_SIMPLER = str.maketrans(_SIGNS, "--.12345678")
SMALLEST = (32, 10)
"""Columns and rows. In less, the script needs all of them."""


class Screen:
    """A terminal: its size, and whether it is ours to paint on at the moment."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._identity = identity(descriptor)
        self._encoding = getattr(sys.__stderr__, "encoding", None) or "utf-8"
        self._has_signs = _SIGNS.encode(self._encoding, "ignore").decode(self._encoding) == _SIGNS

    @classmethod
    def at_hand(cls) -> Screen | None:
        """Where standard error is shown, or standard output, or who started us; None if nowhere.

        Both are piped where people keep a log, `2>&1 | tee log`, and the terminal is still there.
        """
        if sys.platform == "win32" or os.environ.get("TERM", "") in NOT_PAINTED_ON:
            return None
        for number in (2, 1):
            with contextlib.suppress(OSError):
                if os.isatty(number):
                    return cls(_opened(number))
        with contextlib.suppress(OSError):
            return cls(os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY))
        return None

    def size(self) -> tuple[int, int]:
        """Columns and rows as they are now; none where it is too small for a panel."""
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(self.descriptor)
            if size.columns >= SMALLEST[0] and size.lines >= SMALLEST[1]:
                return size.columns, size.lines
        return 0, 0

    @property
    def is_ours(self) -> bool:
        """Whether no other program uses it: no editor, no prompt, no shell with this in background.

        A program that draws on the whole screen, or edits a line on it, reads keys without waiting
        for the end of a line. In the background, writing might stop the script.
        """
        with contextlib.suppress(OSError):  # it is not the one that controls us: no job control
            if os.tcgetpgrp(self.descriptor) != os.getpgrp():
                return False
        with contextlib.suppress(termios.error):
            return bool(termios.tcgetattr(self.descriptor)[3] & termios.ICANON)
        return False

    @property
    def is_there(self) -> bool:
        """The script has not closed our descriptor; its number might be another file's by now."""
        return self._identity is not None and identity(self.descriptor) == self._identity

    def write(self, text: str) -> None:
        """Paints. One write, as the kernel puts no other between its bytes."""
        if not self._has_signs:
            text = text.translate(_SIMPLER)
        data = text.encode(self._encoding, "replace")
        while data and self.is_there:
            data = data[os.write(self.descriptor, data) :]

    def close(self) -> None:
        """Gives the descriptor back, if it still is ours."""
        if self.is_there:
            os.close(self.descriptor)
        self._identity = None


def _opened(number: int) -> int:
    """The same terminal, opened anew: what the script sets for its own descriptor is not ours."""
    with contextlib.suppress(OSError):
        return os.open(os.ttyname(number), os.O_WRONLY | os.O_NOCTTY)
    return os.dup(number)
