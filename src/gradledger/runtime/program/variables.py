"""The variables of a running frame, read so that the program does not notice."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from types import FrameType, ModuleType

from gradledger.runtime.program.objects import attributes, has, is_a

_SAFE = {dict, type(sys._getframe().f_locals), type((lambda: sys._getframe().f_locals)())}
"""What Python itself keeps variables in: from 3.13 on, functions have a view of theirs."""
_ASKING = {"locals", "vars", "dir", "eval", "exec"}


def variables(frame: FrameType) -> dict[str, object]:
    """A function's or a module's variables by name, as they are now.

    Before Python 3.13, who reads those of a function leaves a copy of them behind in the frame,
    which keeps them alive: a model that is deleted later would not go. So that copy is emptied,
    unless the function may have got it too, or a tracer would write it back.
    """
    seen = frame.f_locals
    if type(seen) not in _SAFE:  # `exec` with a mapping of the program's own
        return {}
    found = dict(seen)
    is_copy = sys.version_info < (3, 13) and bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
    if is_copy and frame.f_trace is None and not _ASKING.intersection(frame.f_code.co_names):
        seen.clear()
    return found


def _is_round(value: object, name: str) -> bool:
    """Is it an optimizer that wraps another? A program knows the outer one."""
    return name.strip("_") == "optimizer" and has(value, "step") and has(value, "zero_grad")


def spelled(wanted: object, frames: Iterable[FrameType]) -> str:
    """The variable or attribute of these frames that holds it, where that can be told."""
    for frame in frames:
        for variable, value in variables(frame).items():
            if value is wanted and variable != "self":
                return variable
            if not is_a(value, ModuleType):
                for name, part in list(attributes(value).items()):
                    if part is wanted:
                        return variable if _is_round(value, name) else f"{variable}.{name}"
    return ""
