"""Who owns what: the parameters in the optimizers' param groups, and their names (Law 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import is_
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

Group = dict[str, Any]


class Ownership:
    """The cells that a Stepper deposits into: those of its optimizers, and no others.

    Read from the param groups each time, because people add groups, freeze and unfreeze.
    """

    def __init__(self, model: nn.Module, optimizers: Sequence[Optimizer]) -> None:
        self.model = model
        self.optimizers = tuple(optimizers)
        self._known = self.parameters()
        self._groups = [group for _, group in self.groups()]

    def groups(self) -> Iterator[tuple[Optimizer, Group]]:
        """Every param group, with its optimizer."""
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                yield optimizer, group

    def parameters(self) -> list[Tensor]:
        """Every parameter, frozen ones too, in the order of the groups."""
        if len(self.optimizers) == 1 and len(self.optimizers[0].param_groups) == 1:
            return list(self.optimizers[0].param_groups[0]["params"])
        return [p for _, group in self.groups() for p in group["params"]]

    def changed(self) -> bool:
        """Whether the optimizers hold other parameters, or other groups, than when last asked."""
        now = self.parameters()
        groups = [group for _, group in self.groups()]
        if _same(now, self._known) and _same(groups, self._groups):
            return False
        self._known, self._groups = now, groups
        return True

    @property
    def trainable(self) -> list[Tensor]:
        """What a backward can deposit into."""
        return [p for p in self._known if p.requires_grad]

    def clear(self) -> None:
        """Every cell to None."""
        for p in self._known:
            p.grad = None

    def names(self) -> dict[int, str]:
        """What to call each parameter, by id: as the model does, else by its place in a group."""
        named = {id(p): name for name, p in self.model.named_parameters(remove_duplicate=True)}
        for which, (_, group) in enumerate(self.groups()):
            for place, p in enumerate(group["params"]):
                named.setdefault(id(p), f"parameter {place} of group {which}")
        return named


def _same(a: Sequence[object], b: Sequence[object]) -> bool:
    """The same objects, in the same order."""
    return len(a) == len(b) and all(map(is_, a, b))
