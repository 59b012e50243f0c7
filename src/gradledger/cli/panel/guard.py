"""Restores the terminal if the script's process is killed or crashes, and can't do it itself.

A shell waits at the other end of a socket, which the kernel closes when the process dies. The shell
isn't a child of the script's process, so a script that waits for its children doesn't wait for it.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess

from gradledger.cli.delivery import identity
from gradledger.cli.panel.screen import Screen
from gradledger.cli.panel.shelf import cleared

# The script's signals, from the keyboard or to its group, are not the guard's.
_GUARD = """\
exec 3<&0
(
    trap '' HUP INT QUIT TERM TSTP TTOU
    row=0
    while read -r row_now; do row=$row_now; done
    [ "$row" -gt 0 ] && printf '%s%s%s' "$1" "$row" "$2"
) <&3 3<&- &
"""


class Guard:
    """Remembers from which row on the screen has to be cleared."""

    def __init__(self, screen: Screen) -> None:
        ours, its = socket.socketpair()
        with its:
            before, after = cleared("|").split("|")
            with contextlib.suppress(OSError):  # no shell, no guard
                subprocess.run(
                    ["/bin/sh", "-c", _GUARD, "gradledger", before, after],
                    stdin=its.fileno(),
                    stdout=screen.descriptor,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    check=False,
                )
        self._socket: socket.socket | None = ours
        self._identity = identity(ours.fileno())

    def first_row(self, row: int) -> None:
        """From now on this is the panel's first row; 0: it has none."""
        if self._socket is not None and self._is_there(self._socket):
            with contextlib.suppress(OSError):
                # No signal: the script may have chosen to die of closed pipes.
                self._socket.send(b"%d\n" % row, getattr(socket, "MSG_NOSIGNAL", 0))

    def dismiss(self) -> None:
        """The panel has ended; where its rows could not be given back, the guard does it now."""
        if self._socket is not None:
            if self._is_there(self._socket):
                self._socket.close()
            else:
                self._socket.detach()
            self._socket = None

    def _is_there(self, ours: socket.socket) -> bool:
        """The script has not closed it; its number might be another file's by now."""
        return self._identity is not None and identity(ours.fileno()) == self._identity
