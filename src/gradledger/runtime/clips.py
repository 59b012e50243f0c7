"""Watches the clipping functions of `torch.nn.utils`."""

from __future__ import annotations

import sys
from math import isinf
from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_compiling

from gradledger.ledger.events import Clip, Read
from gradledger.ledger.places import Place
from gradledger.runtime.journal import Journal
from gradledger.runtime.patches import Function, Patches
from gradledger.runtime.unfailing import unfailing


class Clips:
    """Writes a `Clip` for each call, and a `Read` where the program wants to know the norm."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def watch(self, patches: Patches) -> None:
        """Audit clipping until the patches are closed."""
        wrappers = {
            "clip_grad_norm_": self._around_clip,
            "clip_grad_value_": self._around_clip,
            "get_total_norm": self._around_norm,
        }
        patches.everywhere(torch.nn.utils, wrappers)

    def _around_clip(self, real: Function) -> Function:
        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            journal = self.journal
            if journal.asleep or is_compiling() or journal.work.hushed or journal.work.depth:
                return real(parameters, *args, **kwargs)
            leaves = parameters if isinstance(parameters, Tensor) else list(parameters)
            at = self._arrive()
            with journal.call():
                result = real(leaves, *args, **kwargs)
            limit: Any = args[0] if args else kwargs.get("max_norm", kwargs.get("clip_value"))
            if at is not None:
                self._tell(at, [leaves] if isinstance(leaves, Tensor) else leaves, limit, result)
            return result

        return clip

    @unfailing
    def _tell(self, at: Place, leaves: list[Tensor], limit: Any, result: object) -> None:
        journal, cells = self.journal, self.journal.cells
        frame = journal.places.running(sys._getframe(1))
        slots = cells.slots_of(leaves)
        if len(slots) != len(leaves):
            journal.meet(leaves, at)
            slots = cells.slots_of(leaves)
        names = cells.names_of(slots)
        journal.post(journal.made(Clip, at, names, not isinf(float(limit))))
        seen = cells.seen
        for slot, state in zip(slots, cells.states(slots), strict=True):
            seen[slot] = state
        if result is not None and frame is not None and self._is_used(frame):
            self._read(at, names)

    def _is_used(self, frame: Any) -> bool:
        """Does the program do something with what its running call will give back?"""
        spot = self.journal.places.spot(frame)
        return spot.end not in self.journal.places.source(spot.place.path).discarded

    def _around_norm(self, real: Function) -> Function:
        def get_total_norm(grads: Any, *args: Any, **kwargs: Any) -> Any:
            journal = self.journal
            if journal.asleep or is_compiling() or journal.work.hushed or journal.work.depth:
                return real(grads, *args, **kwargs)
            given = grads if isinstance(grads, Tensor) else list(grads)
            self._looked_at([given] if isinstance(given, Tensor) else given)
            return real(given, *args, **kwargs)

        return get_total_norm

    @unfailing
    def _arrive(self) -> Place:
        return self.journal.arrive()

    @unfailing
    def _looked_at(self, grads: list[Tensor]) -> None:
        journal = self.journal
        if names := journal.cells.holding(grads):
            at = journal.arrive()
            journal.post(journal.made(Clip, at, names, False))
            self._read(at, names)

    def _read(self, at: Place, names: frozenset[str]) -> None:
        self.journal.post(self.journal.made(Read, at, names))
