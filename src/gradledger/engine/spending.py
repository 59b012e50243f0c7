"""The spend: divide, unscale, clip, check, step, clear, in this order, here alone (Law 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.optim import Optimizer

from gradledger.engine.amounts import Amounts
from gradledger.engine.guards import Guard, is_watched
from gradledger.engine.parts import Parts
from gradledger.engine.ranks.meshes import pieces
from gradledger.engine.restoring import AllOrNone, NotFiniteAfterStep, restored_on_failure
from gradledger.engine.skips import Skip
from gradledger.engine.steps import unwrapped
from gradledger.engine.sums import local

Closure = Callable[[], Tensor]


class Spending:
    """Turns the sums of a window into one step of every optimizer, or into none."""

    def __init__(self, parts: Parts) -> None:
        self._window = parts.window
        self._ownership = parts.ownership
        self._packing = parts.packing
        self._sums = parts.sums
        self._scaling = parts.scaling
        self._options = parts.options
        optimizers = parts.ownership.optimizers
        self.guards = {o: Guard(o, parts.window) for o in optimizers}
        self._several = AllOrNone(optimizers) if len(optimizers) > 1 else None
        self._amounts = Amounts([], [], 1.0, measured=False)
        self._across = None if parts.meetings is None else parts.meetings.across
        """Adds numbers up over ranks, where each holds a part of the sums."""
        self._ranks = 1 if parts.meetings is None else parts.meetings.table.size

    def spend(self, device: torch.device, made: int, closure: Closure | None = None) -> Skip | None:
        """Makes one update, or gives the reason why not. `made`: how many there were before.

        `closure`: computes the window's gradient and loss again, for an optimizer that asks for it.
        """
        self._sums.settle()
        finite = self._weigh(1.0 / (self._window.weight * self._scaling.unit))
        if not self._scaling.judge(finite, device):
            self._amounts.release()
            return self._skip(made)
        self._settle()
        try:
            if closure is not None:
                self._step_evaluating(closure)
            elif self._several is not None:
                with self._several.together(self._sums.loose):
                    self._step(self._several.moved)
            else:
                self._step([])
        except NotFiniteAfterStep:
            return Skip(made, ("the parameters after the step",), (), scaler=False)
        finally:
            for p in self._sums.loose:
                p.grad = None
            self._amounts.release()
        return None

    def _step(self, moved: list[Optimizer]) -> None:
        for optimizer, guard in self.guards.items():
            watched = is_watched(optimizer)
            step = optimizer.step if watched else unwrapped(optimizer)
            with guard, self._packing.standing_in(optimizer, watched=watched):
                step()
            moved.append(optimizer)

    def _step_evaluating(self, closure: Closure) -> None:
        (optimizer,) = self._ownership.optimizers
        with self.guards[optimizer], restored_on_failure(optimizer):
            optimizer.step(closure)  # type: ignore[arg-type]

    def present(self) -> None:
        """Puts the window's gradient into the cells, for a closure."""
        self._weigh(1.0 / self._window.weight)
        self._settle()

    @property
    def norm(self) -> float | None:
        """The norm of the window that was spent last."""
        return self._amounts.norm()

    def _weigh(self, factor: float) -> bool:
        """Measures the window, as far as needed; False if it is known not to be finite."""
        options = self._options
        checked = options.guarded or self._scaling.scaler is not None
        limits = self._limits()
        portions = self._portions(len(limits))
        across = self._across
        self._amounts = Amounts(
            [[_numbers(total) for total in portion] for portion in portions],
            limits,
            factor,
            measured=checked or options.clip_norm is not None,
            across=across,
            repeated=() if across is None else [[*map(self._repeated, p)] for p in portions],
        )
        return not checked or self._amounts.finite()

    def _limits(self) -> Sequence[float | None]:
        clip = self._options.clip_norm
        if not isinstance(clip, Sequence):
            return [clip]
        self._options.check_groups(sum(1 for _ in self._ownership.groups()))
        return clip

    def _portions(self, count: int) -> list[list[Tensor]]:
        """The sums, in as many portions as there are limits: all together, or by param group."""
        if count == 1:
            packs = self._packing.packs
            sums = [pack.sum for pack in packs if pack.missing is not None]
            return [sums + list(self._sums.loose.values())]
        portions: list[list[Tensor]] = [[] for _ in range(count)]
        groups = [group for _, group in self._ownership.groups()]
        which = {id(group): i for i, group in enumerate(groups)}
        which.update({id(p): i for i, group in enumerate(groups) for p in group["params"]})
        for pack in self._packing.packs:
            if pack.missing is not None:
                portions[which[id(pack.group)]].append(pack.sum)
        for p, total in self._sums.loose.items():
            portions[which[id(p)]].append(total)
        return portions

    def _repeated(self, total: Tensor) -> int:
        """How many ranks have the same piece of it."""
        return self._ranks // pieces(total)

    def _settle(self) -> None:
        """Makes the gradients that the optimizers see."""
        self._amounts.settle(self._options.clip_value)
        for p, total in self._sums.loose.items():
            p.grad = total if total.dtype is p.dtype else total.to(p.dtype)
        for pack in self._packing.packs:
            pack.settle()

    def _skip(self, made: int) -> Skip:
        names = self._ownership.names()
        culprits = tuple(
            names[id(p)]
            for p, total in self._sums.each()
            if not torch.isfinite(_numbers(total)).all()
        )
        losses = tuple(
            which for which, loss in self._window.losses if not torch.isfinite(loss).all()
        )
        return Skip(made, culprits, losses, self._scaling.scaler is not None)


def _numbers(total: Tensor) -> Tensor:
    """What of a sum is here, and can be measured and multiplied."""
    if total.layout is not torch.strided:
        return total._values()
    return local(total)
