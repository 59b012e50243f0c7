"""Ways in which a process ends without Python calling its exit functions."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, Protocol


class Finish(Protocol):
    """What reports at the end."""

    def __call__(self, error: BaseException | None) -> None: ...


def watch_ends(finish: Finish) -> None:
    """Calls `finish` before `os._exit`, and where a process of multiprocessing has run."""
    _before_sudden_exits(finish)
    process: Any = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing.util import Finalize

        # After all that others have registered: the lowest comes last.
        Finalize(None, _has_run, args=(finish,), exitpriority=-1_000_000_000)


def _has_run(finish: Finish) -> None:
    """Called while what ended the process is still being handled."""
    error = sys.exc_info()[1]
    if isinstance(error, SystemExit):
        if not error.code:
            error = None
        elif isinstance(error.__context__, Exception):
            error = error.__context__  # `torch.multiprocessing.spawn` sends it to the parent
    finish(error)


def _before_sudden_exits(finish: Finish) -> None:
    leave, process = os._exit, os.getpid()

    def _exit(status: int) -> None:
        # From another thread it is an emergency exit: the main one may hold what we wait for.
        at_home = os.getpid() == process
        if at_home and threading.get_ident() == threading.main_thread().ident:
            os._exit = leave
            finish(SystemExit(status) if status else None)
        leave(status)

    os._exit = _exit  # type: ignore[assignment]
