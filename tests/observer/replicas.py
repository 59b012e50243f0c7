"""Compares parameters between ranks after the first steps."""

from __future__ import annotations

import torch
from torch import Tensor, distributed

from gradledger.ledger.events import Compare, Step
from tests.observer.journal import Journal

FIRST_STEPS = 4
"""Each comparison is an exchange between ranks; a fault of the kind shows at once."""


class Replicas:
    """Writes a `Compare` after each of the first steps, where there are several ranks."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._left = FIRST_STEPS

    def after(self, step: Step, parameters: list[Tensor]) -> None:
        """Compare the parameters of a step that has just been made."""
        if not _several_ranks() or not self._left:
            return
        self._left -= 1
        different = [p for p in parameters if not _equal(p)]
        names = self.journal.cells.names
        cells = names(different) if different else names(parameters)
        self.journal.post(Compare(step.at, cells, equal=not different))


def _several_ranks() -> bool:
    ready = distributed.is_available() and distributed.is_initialized()
    return ready and distributed.get_world_size() > 1


def _equal(parameter: Tensor) -> bool:
    mine = parameter.detach().contiguous()
    all_of_them = [torch.empty_like(mine) for _ in range(distributed.get_world_size())]
    distributed.all_gather(all_of_them, mine)
    return all(torch.equal(mine, other) for other in all_of_them)
