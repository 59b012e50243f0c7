"""Ctrl-C waits until an update is done: it never leaves half of the weights moved (Law 9)."""

from __future__ import annotations

# The `signal` module around this one turns every number into an enum, which takes longer than a
# small optimizer's step.
try:
    from _signal import (  # type: ignore[import-not-found]
        SIGINT,
        default_int_handler,
        getsignal,
        signal,
    )
except ImportError:
    from signal import SIGINT, default_int_handler, getsignal, signal
from threading import get_ident, main_thread
from types import FrameType


class HeldBack:
    """Inside, an interrupt from the keyboard waits; at the end it is raised.

    Only where Python's own handler is in place: who has set another knows what to do with it.
    """

    def __enter__(self) -> None:
        self._waiting = False
        self._ours = get_ident() == main_thread().ident and getsignal(SIGINT) is default_int_handler
        if self._ours:
            signal(SIGINT, self._wait)

    def __exit__(self, *error: object) -> None:
        if self._ours:
            signal(SIGINT, default_int_handler)
            if self._waiting:
                raise KeyboardInterrupt

    def _wait(self, number: int, frame: FrameType | None) -> None:
        self._waiting = True
