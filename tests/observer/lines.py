"""Follows the script line by line: what it does by hand, and exceptions that it survives."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from gradledger.ledger.events import Fault
from gradledger.ledger.places import Place
from tests.observer.journal import Journal
from tests.observer.patches import Patches

_CONTROL_FLOW = (StopIteration, StopAsyncIteration, GeneratorExit)


class Lines:
    """Looks at the cells after each line, and writes a `Fault` for each exception caught."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._flying: dict[FrameType, tuple[BaseException, int]] = {}
        """Frames that an exception is passing through, and the line where it entered."""
        self._origin: tuple[BaseException | None, Place | None] = (None, None)

    def watch(self, patches: Patches) -> None:
        """Follow the script until the patches are closed."""
        patches.callback(sys.settrace, sys.gettrace())
        sys.settrace(self._enter)

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self._follow if self.journal.script.has(frame) else None

    def _follow(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "exception" and not isinstance(arg[1], _CONTROL_FLOW):
            self._raised(frame, arg[1])
        elif event == "return":
            self._notice()
            self._flying.pop(frame, None)
        elif event == "line":
            self._notice()
            self._caught(frame)
            self.journal.last_place = self.journal.script.statement_at(frame.f_lineno)
        return self._follow

    def _notice(self) -> None:
        if not self.journal.at_work:
            self.journal.notice(self.journal.last_place)

    def _raised(self, frame: FrameType, error: BaseException) -> None:
        self._flying[frame] = (error, frame.f_lineno)
        if self._origin[0] is not error:
            self._origin = (error, self.journal.script.in_frame(frame))

    def _caught(self, frame: FrameType) -> None:
        """The frame goes on behind the exception: somebody has caught it."""
        if frame not in self._flying:
            return
        error, line = self._flying[frame]
        if self.journal.script.on_the_way_out(line, frame.f_lineno):
            return
        del self._flying[frame]
        at = self._origin[1]
        if self._origin[0] is error and at is not None:
            self._origin = (error, None)
            self.journal.post(Fault(at))
