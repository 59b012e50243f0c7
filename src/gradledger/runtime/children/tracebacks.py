"""Tracebacks that a child prints go from the program straight to torch, as those of `run` do.

A process of multiprocessing prints its own, or sends it to its parent as text; others leave that to
Python. So both ways are looked after.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from functools import wraps
from types import FrameType, TracebackType
from typing import Any

from gradledger.runtime.processes.tracebacks import is_ours, leave_ours_out

Walk = Callable[..., Iterator[tuple[FrameType, Any]]]

_WALKS = ("walk_tb", "_walk_tb_with_full_positions")
"""What the module `traceback` goes through a traceback with, by version of Python."""


def hide_our_frames() -> None:
    """From now on, for as long as this process lives."""
    for name in _WALKS:
        if hasattr(traceback, name):
            setattr(traceback, name, _without_ours(getattr(traceback, name)))
    _before_python_reports()


def _without_ours(walk: Walk) -> Walk:
    @wraps(walk)
    def walked(tb: TracebackType | None) -> Iterator[tuple[FrameType, Any]]:
        return (entry for entry in walk(tb) if not is_ours(entry[0].f_code))

    return walked


def _before_python_reports() -> None:
    hook = sys.excepthook

    @wraps(hook)
    def report(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        leave_ours_out(error)
        sys.last_traceback = error.__traceback__
        hook(kind, error, error.__traceback__)

    sys.excepthook = report
