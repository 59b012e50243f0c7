"""Ctrl-C waits until an update is done: it never leaves half of the weights moved (Law 9)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType


@contextmanager
def held_back() -> Iterator[None]:
    """Inside, an interrupt from the keyboard waits; at the end it is raised.

    Only where Python's own handler is in place: who has set another knows what to do with it.
    """
    ours = (
        current_thread() is main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not ours:
        yield
        return
    waiting: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda number, frame: waiting.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if waiting:
            raise KeyboardInterrupt
