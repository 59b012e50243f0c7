"""Watches the clipping functions of `torch.nn.utils`."""

from __future__ import annotations

from math import isinf
from typing import Any

import torch

from gradledger.ledger.events import Clip, Read
from tests.observer.journal import Journal
from tests.observer.patches import Function, Patches


class Clips:
    """Writes a `Clip` for each call, and a `Read` where the script wants to know the norm."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def watch(self, patches: Patches) -> None:
        """Observe clipping until the patches are closed."""
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            patches.around(torch.nn.utils, name, self._around_clip)
        patches.around(torch.nn.utils, "get_total_norm", self._around_norm)

    def _around_clip(self, real: Function) -> Function:
        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            leaves = [parameters] if _one(parameters) else list(parameters)
            if self.journal.at_work:
                return real(leaves, *args, **kwargs)
            limit: Any = args[0] if args else kwargs.get("max_norm", kwargs.get("clip_value"))
            with self.journal.call() as at:
                cells = self.journal.cells.names(leaves)
                self.journal.meet(cells, at)
                result = real(leaves, *args, **kwargs)
                self.journal.post(Clip(at, cells, changes=not isinf(float(limit))))
                if result is not None and self.journal.script.uses_result():
                    self.journal.post(Read(at, cells))
            return result

        return clip

    def _around_norm(self, real: Function) -> Function:
        def get_total_norm(grads: Any, *args: Any, **kwargs: Any) -> Any:
            given = [grads] if _one(grads) else list(grads)
            if self.journal.at_work:
                return real(given, *args, **kwargs)
            with self.journal.call() as at:
                cells = self.journal.cells.holding(given)
                if cells:
                    self.journal.post(Clip(at, cells, changes=False))
                    self.journal.post(Read(at, cells))
                return real(given, *args, **kwargs)

        return get_total_norm


def _one(value: Any) -> bool:
    return isinstance(value, torch.Tensor)
