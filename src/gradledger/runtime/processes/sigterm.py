"""SIGTERM, which torchrun sends to all ranks when one has died: a turn before the end.

The signal ends the process, as it would without us, only a moment later. What the program does
about SIGTERM itself goes first: where it has a handler, that is the one that is called.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import os
import signal
import threading
from collections.abc import Callable
from functools import wraps
from time import sleep
from types import FrameType
from typing import Any

GRACE = 1.0
"""Seconds after which a main thread that does not react is stuck."""


class Terminated(BaseException):
    """What a program died of that was ended by SIGTERM."""


def before_termination(turn: Callable[[], bool]) -> None:
    """Calls `turn` when SIGTERM would end this process. Where that gives True, it does.

    Not where that can't be: outside of the main thread, or where SIGTERM has a handler already.
    """
    if not hasattr(signal, "pthread_kill"):  # Windows, where it is never sent
        return
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        _Watch(turn)


class _Watch:
    """A handler in the main thread, and a thread for when that is stuck.

    Python calls handlers in the main thread alone, and not while that is in a collective that will
    never end. But it always tells by a pipe that a signal has come.
    """

    def __init__(self, turn: Callable[[], bool]) -> None:
        self._turn = turn
        self._claim = threading.Lock()
        """Whose turn it is, the handler's or the thread's."""
        self._in_thread = False
        self._told, self._bell = os.pipe()
        os.set_blocking(self._bell, False)
        self._functions = signal.signal, signal.getsignal
        signal.signal(signal.SIGTERM, self._handle)
        if (taken := signal.set_wakeup_fd(self._bell, warn_on_full_buffer=False)) != -1:
            signal.set_wakeup_fd(taken)
        self._hide()
        os.register_at_fork(after_in_child=self._withdraw)
        # Not a Thread: the program would find that when it counts its own.
        _thread.start_new_thread(self._wait, ())

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._claim.acquire(blocking=False):
            self._take_turn()
        while self._in_thread:  # which ends us
            signal.pause()

    def _wait(self) -> None:
        with contextlib.suppress(OSError):  # the program closed all that was open
            while True:
                if signal.SIGTERM in os.read(self._told, 100) and self._is_ours():
                    sleep(GRACE)
                    if self._claim.acquire(blocking=False):
                        self._in_thread = True
                        self._take_turn()

    def _take_turn(self) -> None:
        ends = True
        try:
            ends = self._turn()
        finally:
            if ends:
                # What signal.signal() does, which may be called in the main thread only.
                ctypes.pythonapi.PyOS_setsig(int(signal.SIGTERM), None)
                os.kill(os.getpid(), signal.SIGTERM)
            self._in_thread = False
            self._claim.release()

    def _is_ours(self) -> bool:
        """Has the program no handler of its own by now?"""
        return self._functions[1](signal.SIGTERM) == self._handle

    def _hide(self) -> None:
        """The program finds what it would find without us; what it sets is in force."""
        really_set, really_get = self._functions

        def shown(handler: Any) -> Any:
            return signal.SIG_DFL if handler == self._handle else handler

        @wraps(really_set)
        def set_handler(signalnum: int, handler: Any) -> Any:
            if signalnum == signal.SIGTERM and handler == signal.SIG_DFL:
                handler = self._handle
            return shown(really_set(signalnum, handler))

        @wraps(really_get)
        def get_handler(signalnum: int) -> Any:
            return shown(really_get(signalnum))

        signal.signal, signal.getsignal = set_handler, get_handler

    def _withdraw(self) -> None:
        """A forked child has an end of its own."""
        signal.signal, signal.getsignal = self._functions
        if self._is_ours():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if (taken := signal.set_wakeup_fd(-1)) != self._bell:
            signal.set_wakeup_fd(taken)
