"""Tracebacks without the frames of the auditor."""

from __future__ import annotations

import os
from pathlib import Path
from types import CodeType, TracebackType

_OURS = str(Path(__file__).absolute().parents[1]) + os.sep


def leave_ours_out(error: BaseException) -> None:
    """Tracebacks go from the program straight to torch, and not through what we put round it."""
    done: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in done:
            done.add(id(one))
            one.__traceback__ = _without_ours(one.__traceback__)
            waiting += [one.__cause__, one.__context__]


def is_ours(code: CodeType) -> bool:
    """Whether it is what we put round the functions that the program calls."""
    return code.co_filename.startswith(_OURS)


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    kept = []
    while trace is not None:
        if not is_ours(trace.tb_frame.f_code):
            kept.append(trace)
        trace = trace.tb_next
    for entry, following in zip(kept, [*kept[1:], None], strict=True):
        entry.tb_next = following
    return kept[0] if kept else None
