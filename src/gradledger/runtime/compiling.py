"""Keeps torch.compile out of our own code: what it had compiled in would never be told again."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from gradledger.runtime.journal import Journal
from gradledger.runtime.patches import Patches

_PURE = ("gradledger.ledger", "gradledger.rules", "gradledger.recording")
_TRACEABLE = {"__init__", "clips"}
"""What is round functions that torch compiles whole: there, to break the graph may be an error. The
other functions that we are round break it themselves. (`__init__` would stand for the folder.)"""

_told: list[object] = []
"""The compiler, once it knows."""


class Compiling:
    """Tells torch's compiler to call our functions as they are."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def watch(self, patches: Patches) -> None:
        """From when the compiler is there, which is when the first optimizer is made."""
        self.journal.imported.append(self.begin_if_needed)
        self.begin_if_needed()

    def begin_if_needed(self) -> None:
        """Is it there? It is told once and for all: nothing but our own files is concerned."""
        rules = sys.modules.get("torch._dynamo.trace_rules")
        if rules is None or _told or not hasattr(rules, "add"):
            return
        _told.append(rules)
        here = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
        ours = [f"gradledger.runtime.{name}" for name in here if name not in _TRACEABLE]
        for module in (*_PURE, *ours):
            if find_spec(module) is not None:
                rules.add(module)
