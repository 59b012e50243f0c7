"""A `gradledger run` in a process that another one audits: it is audited once, by its own."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from gradledger.runtime.children.door._gradledger_door import Door, Inheritance

OWN = ".own"
"""How the name of a file ends that says so."""


def leave_to_its_own_run() -> None:
    """Tell the audit that this process was started under that it need not be waited for."""
    if Door.current is not None:
        Door.current.close()
    if Inheritance.current is not None:
        with contextlib.suppress(OSError):
            Path(Inheritance.current.folder, f"{os.getpid()}{OWN}").touch()
