"""Watches DistributedDataParallel: what is averaged over the ranks, and whether replicas agree."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.compiler import is_compiling
from torch.nn.parallel import DistributedDataParallel

from gradledger.ledger.events import CellNames, Sync
from gradledger.ledger.places import Place
from gradledger.rules.ranks import Fingerprints
from gradledger.runtime.journal import Journal
from gradledger.runtime.patches import Function, Patches

if TYPE_CHECKING:
    from gradledger.runtime.optimizers import Stepping


class Replicas:
    """Writes `Sync`, and takes fingerprints that ranks can compare without a word."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.pending: list[bool] = []
        """For each forward since the latest backward: will that average over the ranks?"""
        self.taken: Fingerprints = []
        self._replicated: list[weakref.ref[Tensor]] = []
        self._steps = 0
        self.found: list[Callable[[], None]] = []
        """Told when there are replicas."""
        self.printed: list[Callable[[Place, int, Mapping[str, int]], None]] = []
        """Told of each fingerprint: where, after which step, what each parameter looked like."""

    def watch(self, patches: Patches) -> None:
        """Audit all replicas until the patches are closed."""
        patches.around(DistributedDataParallel, "forward", self._around_forward)

    def _around_forward(self, real: Function) -> Function:
        def forward(module: Any, *args: Any, **kwargs: Any) -> Any:
            result = real(module, *args, **kwargs)
            if torch.is_grad_enabled() and not is_compiling() and not self.journal.asleep:
                # The forward decides whether the backward will average.
                self.pending.append(bool(module.require_backward_grad_sync))
                if not self._replicated:
                    for begin in self.found:
                        begin()
                    self._replicated = [weakref.ref(p) for p in module.parameters()]
            return result

        return forward

    def after(self, at: Place, cells: CellNames, *, partial: bool) -> None:
        """A backward has run."""
        averages = any(self.pending)
        self.pending.clear()
        if averages and not partial:
            self.journal.post(self.journal.made(Sync, at, cells))

    def stepped(self, step: Stepping) -> None:
        """An optimizer has stepped: at first always, then ever more rarely, take fingerprints."""
        self._steps += 1
        if self._steps <= 4 or not self._steps & (self._steps - 1):
            cells = self.journal.cells
            prints = {}
            for parameter in (ref() for ref in self._replicated):
                slot = None if parameter is None else cells.slot(parameter)
                if parameter is not None and slot is not None:
                    prints[cells.names[slot]] = fingerprint(parameter)
            self.taken.append((step.at, self._steps, prints))
            for hear in self.printed:
                hear(step.at, self._steps, prints)


def fingerprint(tensor: Tensor) -> int:
    """The same number for the same bits, wherever it is taken."""
    plain = tensor.detach().cpu().contiguous().flatten()
    if not plain.numel():
        return 0
    octets = plain.view(torch.uint8).to(torch.int64)
    places = torch.arange(1, octets.numel() + 1)
    return int((octets * (places % 65_521)).sum())
