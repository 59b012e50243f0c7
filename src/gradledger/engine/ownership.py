"""Who owns what: the parameters in the optimizers' param groups, and their names (Law 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter, is_
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

Group = dict[str, Any]
_NOTHING: tuple[Group, list[Tensor]] = {}, []

# Asked of every parameter in every micro-batch: without a frame of Python's for each.
gradient_of = attrgetter("grad")


class Ownership:
    """The cells that a Stepper deposits into: those of its optimizers, and no others.

    Read from the param groups each time, because people add groups, freeze and unfreeze.
    """

    def __init__(self, model: nn.Module, optimizers: Sequence[Optimizer]) -> None:
        self.model = model
        self.optimizers = tuple(optimizers)
        self._seen: list[tuple[Group, list[Tensor]]] = []
        self._known: list[Tensor] = []
        self.changed()

    def groups(self) -> Iterator[tuple[Optimizer, Group]]:
        """Every param group, with its optimizer."""
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                yield optimizer, group

    def parameters(self) -> list[Tensor]:
        """Every parameter, frozen ones too, in the order of the groups."""
        return [p for _, group in self.groups() for p in group["params"]]

    def changed(self) -> bool:
        """Whether the optimizers hold other parameters, or other groups, than when last asked."""
        seen = iter(self._seen)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                known, parameters = next(seen, _NOTHING)
                now = group["params"]
                if (
                    group is not known
                    or len(now) != len(parameters)
                    or not all(map(is_, now, parameters))
                ):
                    return self._look_anew()
        return next(seen, None) is not None and self._look_anew()

    def _look_anew(self) -> bool:
        self._seen = [(group, list(group["params"])) for _, group in self.groups()]
        self._known = self.parameters()
        return True

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
