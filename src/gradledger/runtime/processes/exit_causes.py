"""How a process ended, in words."""

from __future__ import annotations

import os
from pathlib import Path

from gradledger.runtime.processes.sigterm import Terminated


def end_of(error: BaseException | None) -> str:
    """`died of ValueError: …`; nothing, where it came to its end."""
    match error:
        case None:
            return ""
        case Terminated():
            return "received SIGTERM"
        case SystemExit():
            return f"left with status {error.code!r}"
    said = str(error).partition("\n")[0]
    if "by peer" in said:  # what gloo says, after a while, of one that has died
        return "lost touch with another"
    return ": ".join(filter(None, (f"died of {type(error).__name__}", said)))


def lives(process: int) -> bool:
    """Whether a process of this machine has not ended yet."""
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
    except OSError:  # no Linux
        return True
    # Dead, and its parent does not know it yet: it may be waiting for us.
    return state.rpartition(")")[2].split()[:1] != ["Z"]
