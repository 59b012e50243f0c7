"""Names for tensors and other objects: the first that was found for one stays its own."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from types import FrameType

import torch
from torch import Tensor, nn

from gradledger.ledger.events import CellNames, Traits
from tests.observer.places import Script

LOW_PRECISION = (torch.bfloat16, torch.float16)


class Cells:
    """Every leaf that the observer has met, by name.

    Leaves are kept alive, so that no other tensor is ever taken for one of them.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._by_name: dict[str, Tensor] = {}
        self._names: dict[int, str] = {}
        self._like: Counter[str] = Counter()

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        return iter(list(self._by_name.items()))

    def __getitem__(self, name: str) -> Tensor:
        return self._by_name[name]

    def knows(self, leaf: Tensor) -> bool:
        """Has it been met before?"""
        return id(leaf) in self._names

    def name(self, leaf: Tensor) -> str:
        """The leaf's name: as the script would call it where that can be told."""
        known = self._names.get(id(leaf))
        if known is not None:
            return known
        wanted = _spelled(leaf, self._script)
        if wanted is None or wanted in self._by_name:
            kind = wanted or ("parameter" if isinstance(leaf, nn.Parameter) else "leaf")
            self._like[kind] += 1
            wanted = f"{kind}-{self._like[kind]}"
        self._names[id(leaf)] = wanted
        self._by_name[wanted] = leaf
        return wanted

    def names(self, leaves: Iterable[Tensor]) -> CellNames:
        """The names of several."""
        return frozenset(self.name(leaf) for leaf in leaves)

    def holding(self, grads: Iterable[Tensor]) -> CellNames:
        """The cells that hold these gradients."""
        wanted = {id(grad) for grad in grads}
        return frozenset(name for name, leaf in self if id(leaf.grad) in wanted)


class Roles:
    """Names for optimizers, scalers and schedulers: optimizer-1, optimizer-2 …"""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._kept: list[object] = []

    def name(self, role: str, player: object) -> str:
        """The player's name; the first in its role is number 1."""
        known = self._names.get(id(player))
        if known is None:
            number = sum(name.startswith(role) for name in self._names.values()) + 1
            known = self._names[id(player)] = f"{role}-{number}"
            self._kept.append(player)
        return known


def traits(leaf: Tensor) -> Traits:
    """What a cell is now."""
    if leaf.grad is not None:
        dtype: torch.dtype = leaf.grad.dtype
    else:
        dtype = getattr(leaf, "grad_dtype", None) or leaf.dtype
    return Traits(
        parameter=isinstance(leaf, nn.Parameter),
        frozen=not leaf.requires_grad,
        low_precision=dtype in LOW_PRECISION,
    )


def _spelled(leaf: Tensor, script: Script) -> str | None:
    """`model.fc.weight`: the variable of the script that holds it, the innermost frame first."""
    spaces = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if script.has(frame):
            spaces.append(frame.f_locals)
        frame = frame.f_back
    # Modules first: the `p` of a loop over parameters says nothing.
    for space in spaces:
        for variable, value in space.items():
            if isinstance(value, nn.Module):
                for name, parameter in value.named_parameters():
                    if parameter is leaf:
                        return f"{variable}.{name}"
    found = (variable for space in spaces for variable, value in space.items() if value is leaf)
    return next(found, None)
