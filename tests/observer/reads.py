"""Watches the script look at gradients."""

from __future__ import annotations

import sys
from typing import Any

from torch import Tensor
from torch.overrides import get_default_nowrap_functions

from gradledger.ledger.events import Read
from tests.observer.journal import Journal
from tests.observer.patches import Patches


class Reads:
    """Writes a `Read` where the script uses the value of a `.grad`."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def watch(self, patches: Patches) -> None:
        """Observe `.grad` until the patches are closed."""
        get_default_nowrap_functions()  # torch remembers the getter that it sees first
        real: Any = Tensor.grad

        def get(tensor: Tensor) -> Tensor | None:
            grad: Tensor | None = real.__get__(tensor)
            script, frame = self.journal.script, sys._getframe(1)
            known = grad is not None and self.journal.cells.knows(tensor)
            if known and script.has(frame) and script.uses_value(frame):
                cells = frozenset({self.journal.cells.name(tensor)})
                self.journal.post_joined(Read(script.in_frame(frame), cells))
            return grad

        patches.set(Tensor, "grad", property(get, real.__set__, real.__delete__))
