"""The variables of a running frame, read so that the program does not notice."""

from __future__ import annotations

import inspect
import sys
from types import FrameType

_ASKING = {"locals", "vars", "dir", "eval", "exec"}


def variables(frame: FrameType) -> dict[str, object]:
    """A function's or a module's variables by name, as they are now.

    Before Python 3.13, who reads those of a function leaves a copy of them behind in the frame,
    which keeps them alive: a model that is deleted later would not go. So that copy is emptied,
    unless the function may have got it too, or a tracer would write it back.
    """
    seen = frame.f_locals
    found = dict(seen)
    is_copy = sys.version_info < (3, 13) and bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
    if is_copy and frame.f_trace is None and not _ASKING.intersection(frame.f_code.co_names):
        seen.clear()
    return found
