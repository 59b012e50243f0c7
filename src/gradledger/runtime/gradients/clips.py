"""Watches the clipping functions of `torch.nn.utils`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import inf, isinf
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_compiling

from gradledger.ledger.events import Clip, Read
from gradledger.ledger.places import Place
from gradledger.runtime.gradients.clip_limits import ClipLimits
from gradledger.runtime.journal.crash_guard import survive, unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches
from gradledger.runtime.tensors.devices import number


class Clips:
    """Writes a `Clip` for each call, and a `Read` where the program wants to know the norm."""

    def __init__(self, journal: Journal, limits: ClipLimits) -> None:
        self.journal = journal
        self._limits = limits
        self._used: dict[int, bool] = {}
        """By place: does the program look at the norm that a call there gives back?"""
        self._latest: tuple[tuple[object, ...], Clip | None] = (), None
        """The latest clip, and what it was made of."""
        self.begins: list[Callable[[Sequence[Tensor]], None]] = []
        """Told whose gradients are about to be clipped."""

    def watch(self, patches: Patches) -> None:
        """Audit clipping until the patches are closed."""
        wrappers = {
            "clip_grad_norm_": self._around_clip,
            "clip_grad_value_": self._around_clip,
            "clip_grads_with_norm_": self._around_clip,
            "get_total_norm": self._around_norm,
        }
        patches.everywhere(torch.nn.utils, wrappers)
        self._patches, self._fsdp = patches, False
        self.journal.imported.append(self._begin_fsdp)
        self._begin_fsdp()

    def _begin_fsdp(self) -> None:
        """FSDP1 has the ranks exchange the norm, and so a method of its own."""
        fsdp = sys.modules.get("torch.distributed.fsdp")
        kind = getattr(fsdp, "FullyShardedDataParallel", None)
        if kind is not None and not self._fsdp:
            self._fsdp = True
            self._patches.around(kind, "clip_grad_norm_", self._around_method)

    def _around_method(self, real: Function) -> Function:
        def clip_grad_norm_(module: Any, *args: Any, **kwargs: Any) -> Any:
            def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
                return real(module, *args, **kwargs)

            return self._around_clip(clip)(list(module.parameters()), *args, **kwargs)

        return clip_grad_norm_

    def _around_clip(self, real: Function) -> Function:
        journal = self.journal

        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            if (
                journal.asleep
                or is_compiling()
                or (work := journal.thread.work).depth
                or work.hushed
            ):
                return real(parameters, *args, **kwargs)
            given = parameters if isinstance(parameters, Tensor) else list(parameters)
            leaves: list[Tensor] = given if isinstance(given, list) else [given]
            frame = sys._getframe(1)
            limit = args[0] if args else kwargs.get("max_norm", kwargs.get("clip_value"))
            try:
                at = journal.arrive_at(frame)
                if self.begins:
                    for hear in self.begins:
                        hear(leaves)
            except Exception as error:
                survive(journal, error)
                return real(given, *args, **kwargs)
            work.depth += 1
            try:
                result = real(given, *args, **kwargs)
            finally:
                work.depth -= 1
            try:
                with journal.entering:
                    self._tell(at, leaves, limit, None if result is None else frame)
            except Exception as error:
                survive(journal, error)
            return result

        return clip

    def _tell(
        self, at: Place, leaves: list[Tensor], limit: Any, given_to: FrameType | None
    ) -> None:
        journal, cells = self.journal, self.journal.cells
        slots, names = cells.group(leaves)
        if len(slots) != len(leaves):
            journal.meet(leaves, at)
            slots, names = cells.group(leaves)
        cells.see(leaves, slots)
        limit = number(limit)
        unit = self._limits.unit(at, names, limit) if self._limits.matter else None
        fields = at, names, limit is None or not isinf(limit), unit
        known, event = self._latest
        if event is None or fields != known:
            event = journal.made(Clip, *fields)
            self._latest = fields, event
        journal.enter(event)
        if given_to is not None:
            used = self._used.get(id(at))
            if self._is_used(at, given_to) if used is None else used:
                self._read(at, names)

    def _is_used(self, at: Place, given_to: FrameType) -> bool:
        """Does the program do something with what its call there will give back?"""
        places = self.journal.places
        frame = places.running(given_to)
        if frame is None:
            return False
        spot = places.spot(frame)
        used = spot.end not in places.source(spot.place.path).discarded
        self._used[id(spot.place)] = used
        return used

    def _around_norm(self, real: Function) -> Function:
        journal = self.journal

        def get_total_norm(grads: Any, *args: Any, **kwargs: Any) -> Any:
            if (
                journal.asleep
                or is_compiling()
                or (work := journal.thread.work).depth
                or work.hushed
            ):
                return real(grads, *args, **kwargs)
            given = grads if isinstance(grads, Tensor) else list(grads)
            self._looked_at([given] if isinstance(given, Tensor) else given)
            return real(given, *args, **kwargs)

        return get_total_norm

    @unfailing
    def _looked_at(self, grads: list[Tensor]) -> None:
        journal = self.journal
        if names := journal.cells.holding(grads):
            at = journal.arrive()
            unit = self._limits.unit(at, names, inf) if self._limits.matter else None
            journal.post(journal.made(Clip, at, names, False, unit))
            self._read(at, names)

    def _read(self, at: Place, names: frozenset[str]) -> None:
        self.journal.post(self.journal.made(Read, at, names))
