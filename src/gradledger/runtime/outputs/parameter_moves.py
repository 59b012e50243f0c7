"""How far a step moves parameters, from copies of a sample of them before and after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from math import gcd, sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from gradledger.runtime.tensors.dtypes import LOW_PRECISION
from gradledger.runtime.tensors.norms import UNABLE, flattened, plain, widened

WHOLE = 4096
"""Elements: of a larger parameter, about so many stand for all."""


class Move(NamedTuple):
    """How a parameter was moved, as sums of squares over what was looked at."""

    change: float
    size: float
    stands_for: float
    """How many elements each one that was looked at stands for."""


class Before:
    """What some parameters are now. Holds copies, and keeps nothing of theirs alive."""

    def __init__(self, leaves: Mapping[int, Tensor]) -> None:
        self._samples: list[Sample] = []
        with torch.no_grad(), suppress(*UNABLE):
            self._samples += _samples(leaves.items())

    def moves(self, leaves: Mapping[int, Tensor]) -> list[tuple[Sample, Tensor]]:
        """Of the same parameters, as they are by now, for each device what `as_moves` reads."""
        measured: list[tuple[Sample, Tensor]] = []
        with torch.no_grad(), suppress(*UNABLE):
            for old in self._samples:
                there = [(slot, leaves[slot]) for slot in old.slots if slot in leaves]
                new = next(_samples(there), None)
                if new is not None and new.lengths == old.lengths and new.slots == old.slots:
                    change = new.values.sub_(old.values)
                    sums = _sums_of_squares(change, old), _sums_of_squares(old.values, old)
                    measured.append((old, torch.cat(sums)))
        return measured


class Sample(NamedTuple):
    """Some numbers of each of several parameters on one device, one after the other."""

    slots: list[int]
    lengths: list[int]
    stand_for: list[float]
    values: Tensor

    def as_moves(self, numbers: Sequence[float]) -> dict[int, Move]:
        """What `Before.moves` measured, once it can be read."""
        changes, sizes = numbers[: len(self.slots)], numbers[len(self.slots) :]
        moves = map(Move, changes, sizes, self.stand_for)
        return dict(zip(self.slots, moves, strict=True))


def ratio(moves: Iterable[Move]) -> float | None:
    """|change| / |before| of all of them together; None where all was zero before."""
    change = size = 0.0
    for move in moves:
        change += move.change * move.stands_for
        size += move.size * move.stands_for
    return sqrt(change / size) if size > 0 else None


def _samples(leaves: Iterable[tuple[int, Tensor]]) -> Iterator[Sample]:
    """One for each device."""
    found: dict[torch.device, tuple[list[int], list[Tensor], list[float]]] = {}
    for slot, leaf in leaves:
        whole = plain(leaf)
        looked_at = None if whole is None else _looked_at(whole)
        if whole is not None and looked_at is not None and looked_at.numel():
            slots, pieces, stand_for = found.setdefault(whole.device, ([], [], []))
            slots.append(slot)
            pieces.append(looked_at)
            stand_for.append(whole.numel() / looked_at.numel())
    for slots, pieces, stand_for in found.values():
        lengths = list(map(Tensor.numel, pieces))
        values = flattened(pieces)
        if values.is_complex():
            values, lengths = torch.view_as_real(values).reshape(-1), [2 * n for n in lengths]
        if values.dtype in LOW_PRECISION:
            values = values.float()
        elif len(pieces) == 1:  # of one alone, torch gives a view
            values = values.clone()
        yield Sample(slots, lengths, stand_for, values)


def _looked_at(leaf: Tensor) -> Tensor | None:
    """All of it, or a regular sample; None where to take one would mean to copy all."""
    if leaf.numel() <= WHOLE:
        return leaf
    if not leaf.is_contiguous():
        order = sorted(range(leaf.dim()), key=leaf.stride, reverse=True)
        leaf = leaf.permute(order)
        if not leaf.is_contiguous():
            return None
    return leaf.view(-1)[:: _distance(leaf.numel())]


@lru_cache(maxsize=1024)
def _distance(elements: int) -> int:
    """From one element to the next. It has no factor in common with any dimension: every 1024th of
    a matrix with 1024 columns would be one of its columns."""
    distance = -(-elements // WHOLE)
    while gcd(distance, elements) > 1:
        distance += 1
    return distance


def _sums_of_squares(values: Tensor, of: Sample) -> Tensor:
    lengths = torch.tensor(of.lengths, device=values.device)
    squares = widened(values).square()
    sums: Tensor = torch.segment_reduce(squares, "sum", lengths=lengths, unsafe=True)
    return sums
