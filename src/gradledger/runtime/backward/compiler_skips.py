"""Keeps torch.compile out of our own code: compiled hooks would never be called again."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Patches

_NOT_IN_STEPS = {"children", "launch", "window_equality"}
"""Folders of what is never called while a model trains."""

_TRACEABLE = {"clips"}
"""What is round functions that torch compiles whole: there, to break the graph may be an error. The
other functions that we are round break it themselves."""

_told: list[object] = []
"""The compiler, once it knows."""


class CompilerSkips:
    """Tells torch's compiler to call our functions as they are."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def watch(self, patches: Patches) -> None:
        """From when the compiler is there, which is when the first optimizer is made."""
        self.journal.imported.append(self.begin_if_needed)
        self.begin_if_needed()

    def begin_if_needed(self) -> None:
        """Is it there? It is told once and for all: nothing but our own files is concerned."""
        rules: Any = sys.modules.get("torch._dynamo.trace_rules")
        if rules is None or _told:
            return
        _told.append(rules)
        folder = Path(__file__).absolute().parents[1]
        files = (path.relative_to(folder) for path in folder.rglob("*.py"))
        names = [
            folder / path
            for path in files
            if path.parts[0] not in _NOT_IN_STEPS and path.stem not in _TRACEABLE
        ]
        with contextlib.suppress(AttributeError):  # of another torch, which may have no such list
            rules.SKIP_DIRS += [str(path) for path in (*_pure(folder.parent), *names)]
            # What `trace_rules.add` does for each one, which is slow.
            rules._recompile_re()


def _pure(package: Path) -> list[Path]:
    return [package / name for name in ("ledger", "rules", "recording")]
