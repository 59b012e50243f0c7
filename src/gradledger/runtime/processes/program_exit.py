"""How a program ended, and the auditor's turn after all else that Python does then."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
import threading
from typing import Protocol

from gradledger.runtime.processes.sigterm import Terminated, before_termination


class Auditor(Protocol):
    """What watches a program and reports at its end."""

    def begin(self) -> None:
        """Called when torch has been imported, and nothing was done with it yet."""

    def begin_late(self) -> None:
        """Called instead where that is noticed only now: something may have been done with it."""

    def conclude(self, *, passed: bool, error: BaseException | None) -> int:
        """The program has ended. The status to leave with if it passed; 0 to leave it so.

        `error` is what it died of, if anything.
        """


class ProgramExit:
    """Waits for the end of the program from now on: threads, exit functions, all of it.

    Made before the program, it is registered before all that the program registers, and Python
    calls the first one last. A forked child has its own end, which is none of our business.
    """

    def __init__(self, auditor: Auditor, *, at_sigterm: bool = False) -> None:
        self._auditor: Auditor | None = auditor
        self._at_sigterm = at_sigterm
        self._expects_sigterm = False
        self._process = os.getpid()
        self._passed = False
        self._error: BaseException | None = None
        atexit.register(self._finish)
        self._watch_sudden_exits()

    def begin(self, *, late: bool = False) -> None:
        """The program has imported torch; `late`: and may have used it since."""
        if self._auditor is not None and self._at_home:
            if late:
                self._auditor.begin_late()
            else:
                self._auditor.begin()
            if self._at_sigterm:
                self.expect_sigterm()

    def expect_sigterm(self) -> None:
        """The auditor has a turn before SIGTERM ends the program, from now on."""
        if not self._expects_sigterm and self._at_home:
            self._expects_sigterm = True
            before_termination(self._terminated)

    def begin_late(self) -> None:
        """The program imported torch a while ago."""
        self.begin(late=True)

    def exited(self, code: object) -> None:
        """The program came to its end, or called `sys.exit` with this code."""
        self._passed = code is None or (isinstance(code, int) and code & 0xFF == 0)
        if not self._passed:
            # Not the one that was raised: it would keep alive all that its frames hold.
            self._error = SystemExit(code)

    def died(self, error: BaseException) -> None:
        """The program died of this."""
        self._error = error

    def cancel(self) -> None:
        """There was no program."""
        self._auditor = None
        atexit.unregister(self._finish)

    @property
    def _at_home(self) -> bool:
        return os.getpid() == self._process

    def _finish(self) -> None:
        if not self._at_home:
            return
        _flush()  # what the program said comes first
        interrupted = isinstance(self._error, KeyboardInterrupt)
        if status := self._conclude():
            _leave(status)
        if interrupted:
            _remind_of_the_interrupt()

    def _terminated(self) -> bool:
        """SIGTERM would end the program. Not in the middle of a verdict: that ends it anyway."""
        if self._auditor is None:
            return False
        if not self._passed:
            self._error = self._error or Terminated()
        self._conclude()
        return True

    def _conclude(self) -> int:
        """The status to leave with instead of the program's, or 0."""
        auditor, self._auditor = self._auditor, None
        if auditor is None:
            return 0
        error, self._error = self._error, None
        status = auditor.conclude(passed=self._passed, error=error)
        return status if self._passed else 0

    def _watch_sudden_exits(self) -> None:
        """`os._exit` calls nothing that was registered, so the auditor's turn is before it."""
        leave = os._exit

        def _exit(status: int) -> None:
            # From another thread it is an emergency exit: the main one may be stuck, and hold
            # what the auditor would wait for.
            if threading.get_ident() == threading.main_thread().ident and self._at_home:
                os._exit = leave
                self.exited(status)
                status = self._conclude() or status
            leave(status)

        os._exit = _exit  # type: ignore[assignment]


def _remind_of_the_interrupt() -> None:
    """Python ends itself by SIGINT if that was what the last code it compiled died of.

    The verdict may have made it compile some more.
    """
    with contextlib.suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")


def _leave(status: int) -> None:
    """Ends the process with another status. This late, Python itself can't any more."""
    _let_go_of_the_program()
    _flush()
    os._exit(status)


def _let_go_of_the_program() -> None:
    """What Python does at its end, so that objects that tidy up when they go still do."""
    main = sys.modules.pop("__main__", None)
    if main is not None:
        held = main.__dict__
        del main
        gc.collect()
        for name in held:
            if not name.startswith("__"):
                held[name] = None
        gc.collect()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # A stream that can't be flushed, or is none, is Python's to complain about.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
