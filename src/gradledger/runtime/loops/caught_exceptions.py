"""Watches for exceptions that the program survives: they may have broken a window off."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from gradledger.ledger.events import Backward, Batch, Clear, EpochEnd, Event, Fault
from gradledger.ledger.places import Place
from gradledger.runtime.backward.backwards import Backwards
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Patches

_CONTROL_FLOW = (StopIteration, StopAsyncIteration, GeneratorExit)


class CaughtExceptions:
    """Writes a `Fault` where an exception that was caught had broken an iteration off.

    Python tells of exceptions only to who traces, so it begins only where the code that trains
    could catch one and go on; and not at all where a debugger or another tool traces.
    """

    def __init__(self, journal: Journal, backwards: Backwards) -> None:
        self.journal = journal
        self._backwards = backwards
        self._tracing = False
        self.flying: dict[FrameType, tuple[BaseException, int]] = {}
        """Frames that an exception is passing through, and the line where it entered."""
        self._origin: tuple[BaseException | None, Place | None] = (None, None)
        self._training: set[tuple[CodeType, int]] = set()
        """Lines of running frames from which a backward was made."""
        self._given_up: dict[int, Place] = {}
        """An exception was caught; whether it cost this batch its backward, what follows tells. By
        thread."""
        self._passes: dict[int, int] = {}
        """Backward passes before the latest batch was drawn, by the thread that drew it."""

    def watch(self, patches: Patches) -> None:
        """Follow the program until the patches are closed, from when it is needed."""
        self._patches = patches
        self._backwards.looked_closely.append(self.begin_if_needed)

    def begin_if_needed(self, frame: FrameType) -> None:
        """Could the code that makes a backward here survive an exception?"""
        places = self.journal.places
        if self._tracing or sys.gettrace() not in (None, _enter):
            return
        running = ((places.source(f.f_code.co_filename), f.f_lineno) for f in places.frames(frame))
        if not any(source.survives_exceptions_round(line) for source, line in running):
            return
        self._tracing = True
        self.journal.call_before((Backward, Clear, Batch, EpochEnd), self._foresee)
        self._patches.callback(self._end)
        _begin(self, places.frames(sys._getframe()))

    def _end(self) -> None:
        _end(self)
        self.flying.clear()

    # Following

    @unfailing
    def follow(self, frame: FrameType, event: str, arg: Any) -> None:
        """Something happens in a frame that is traced."""
        if event == "exception":
            users = self.journal.places.is_users(frame.f_code)
            if users and not isinstance(arg[1], _CONTROL_FLOW):
                self._raised(frame, arg[1])
        elif event == "return":
            self.flying.pop(frame, None)
        elif event == "line" and frame in self.flying:
            self._caught(frame, *self.flying[frame])

    def _raised(self, frame: FrameType, error: BaseException) -> None:
        self.flying[frame] = (error, frame.f_lineno)
        if self._origin[0] is not error:
            self._origin = (error, self.journal.places.spot(frame).place)

    def _caught(self, frame: FrameType, error: BaseException, line: int) -> None:
        """The frame goes on behind the exception, so it was caught."""
        source = self.journal.places.source(frame.f_code.co_filename)
        if not source.handler_of(line, frame.f_lineno):
            return
        del self.flying[frame]
        at = self._origin[1]
        if self._origin[0] is not error or at is None:
            return
        self._origin = (None, None)
        if self._trained_inside(source.tries_round(line), frame.f_code):
            self._tell(at)
        else:
            self._given_up[threading.get_ident()] = at

    def _trained_inside(self, tries: list[ast.stmt], code: CodeType) -> bool:
        """Does one of these blocks make backward passes?"""
        lines = [line for trained, line in self._training if trained is code]
        return any(block.lineno <= line <= body_end(block) for block in tries for line in lines)

    # Listening

    def _foresee(self, event: Event) -> None:
        match event:
            case Backward():
                self._given_up.pop(threading.get_ident(), None)
                for frame in self.journal.places.frames(sys._getframe()):
                    self._training.add((frame.f_code, frame.f_lineno))
            case Clear():
                # To clear up behind an exception is right, whatever was lost.
                self._tell_given_up()
            case Batch() | EpochEnd():
                thread, (passes, _) = threading.get_ident(), self._backwards.training
                if passes != self._passes.get(thread):
                    self._given_up.pop(thread, None)
                self._passes[thread] = passes
                self._tell_given_up()

    def _tell_given_up(self) -> None:
        at = self._given_up.pop(threading.get_ident(), None)
        if at is not None:
            self._tell(at)

    def _tell(self, at: Place) -> None:
        with self.journal.entering:
            self.journal.post(Fault(at, self._backwards.training[1]))


# Python has one tracer to a thread, and audits may lie in one another: all share this one.

_followers: list[CaughtExceptions] = []
_threads_before: list[Any] = []
"""What traced new threads before."""


def _begin(faults: CaughtExceptions, running: Iterable[FrameType]) -> None:
    if not _followers:
        _threads_before.append(threading.gettrace())
        threading.settrace(_enter)
    _followers.append(faults)
    _know()
    sys.settrace(_enter)
    for frame in running:
        if frame.f_trace is None:
            frame.f_trace_lines, frame.f_trace = False, _follow


def _end(faults: CaughtExceptions) -> None:
    _followers.remove(faults)
    _know()
    if _followers:
        return
    if sys.gettrace() is _enter:
        sys.settrace(None)
    before = _threads_before.pop()
    if threading.gettrace() is _enter:
        threading.settrace(before)
    # Of the frames that were running then, those that still do: to keep a list of them would keep
    # all that they hold alive.
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_trace is _follow:
            frame.f_trace, frame.f_trace_lines = None, True
        frame = frame.f_back


_known: dict[int, bool] = {}
"""The code that the only follower knows to be the user's, or not to be."""


def _know() -> None:
    global _known
    _known = _followers[0].journal.places.user_code if len(_followers) == 1 else {}


def _enter(frame: FrameType, event: str, arg: Any) -> Any:
    # Every call in the process comes here, most of them by libraries: this line is the cost.
    if _known.get(id(frame.f_code)) is False:
        return None
    if not _followers:  # a thread that has outlived the audit
        sys.settrace(None)
        return None
    if not any(faults.journal.places.is_users(frame.f_code) for faults in _followers):
        return None
    frame.f_trace_lines = False
    return _follow


def _follow(frame: FrameType, event: str, arg: Any) -> Any:
    if not _followers:
        frame.f_trace_lines = True
        return None
    for faults in list(_followers):
        faults.follow(frame, event, arg)
    # Lines are slow to follow: they matter only while an exception is on its way.
    frame.f_trace_lines = any(frame in faults.flying for faults in _followers)
    return _follow


def body_end(block: ast.stmt) -> int:
    """The last line of a block's body."""
    body: list[ast.stmt] = getattr(block, "body", [])
    return (body[-1].end_lineno or 0) if body else 0
