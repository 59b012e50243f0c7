"""Counts the backward passes of `torch.distributed.autograd`, which nothing here can see.

Their gradients are in a context of its own, and never in `.grad` while a pass runs; parameters may
be in other processes, where optimizers that are compiled may step them.
"""

from __future__ import annotations

import sys
from typing import Any

from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches

WHY = "torch.distributed.autograd keeps gradients of its own"


class RpcAutograd:
    """Reports each such pass as unseen."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._watched = False

    def watch(self, patches: Patches) -> None:
        """Count them until the patches are closed, from when the module is imported."""
        self._patches = patches
        self.journal.imported.append(self._begin_if_loaded)
        self._begin_if_loaded()

    def _begin_if_loaded(self) -> None:
        module: Any = sys.modules.get("torch.distributed.autograd")
        if self._watched or "backward" not in vars(module or sys):
            return
        self._watched = True
        self._patches.set(module, "backward", self._counted(module.backward))

    def _counted(self, real: Function) -> Function:
        def backward(*args: Any, **kwargs: Any) -> Any:
            result = real(*args, **kwargs)
            if not self.journal.asleep:
                self.journal.not_seen("backwards", WHY)
            return result

        return backward
