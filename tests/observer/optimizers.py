"""Watches optimizers: when they are made, step and clear."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from gradledger.ledger.events import CellNames, Clear, Own, Step
from gradledger.ledger.places import Place
from tests.observer.journal import Journal
from tests.observer.patches import Function, Patches
from tests.observer.replicas import Replicas
from tests.observer.sightings import Sighting, finite


class Stepping:
    """One call of `step`, which may evaluate a closure several times."""

    def __init__(self, optimizer: Optimizer, name: str, at: Place) -> None:
        self.optimizer = optimizer
        self.name = name
        self.at = at
        self.before: dict[str, Sighting] = {}
        self.evaluations = 0


class Optimizers:
    """Writes `Own`, `Step` and `Clear`."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.scaler: str | None = None
        """The scaler whose `step` is running."""
        self.stepped: list[Step] = []
        self.replicas = Replicas(journal)
        self._making: list[Optimizer] = []
        self._running: list[Stepping] = []

    def watch(self, patches: Patches) -> None:
        """Observe all optimizers until the patches are closed."""
        patches.around(Optimizer, "__init__", self._around_init)
        patches.around(Optimizer, "add_param_group", self._around_add_param_group)
        patches.around(Optimizer, "zero_grad", self._around_zero_grad)
        patches.around(nn.Module, "zero_grad", self._around_zero_grad)
        patches.callback(register_optimizer_step_pre_hook(self._before_step).remove)
        patches.callback(register_optimizer_step_post_hook(self._after_step).remove)

    # Making

    def _around_init(self, real: Function) -> Function:
        def init(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            self._making.append(optimizer)
            try:
                real(optimizer, *args, **kwargs)
            finally:
                self._making.pop()
            self._own(optimizer, self.journal.here(outside=optimizer))

        return init

    def _around_add_param_group(self, real: Function) -> Function:
        def add_param_group(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            real(optimizer, *args, **kwargs)
            if optimizer not in self._making:
                self._own(optimizer, self.journal.here())

        return add_param_group

    def _own(self, optimizer: Optimizer, at: Place) -> None:
        name, cells = self.name(optimizer), self.cells(optimizer)
        self.journal.meet(cells, at)
        self.journal.post(Own(at, name, cells))
        self.journal.own(name, cells)

    def name(self, optimizer: Optimizer) -> str:
        """What the optimizer is called in the journal."""
        return self.journal.roles.name("optimizer", optimizer)

    def cells(self, optimizer: Optimizer) -> CellNames:
        """The cells of its param groups."""
        return self.journal.cells.names(parameters(optimizer))

    # Stepping

    def _before_step(
        self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        journal, at = self.journal, self.journal.here()
        if not journal.at_work:
            journal.notice()
        step = Stepping(optimizer, self.name(optimizer), at)
        step.before = self._look(optimizer)
        self._running.append(step)
        # The hook's first argument is the optimizer itself; a closure may be the second.
        if len(args) > 1 and callable(args[1]):
            return (args[0], self._evaluated(args[1], step), *args[2:]), kwargs
        if callable(kwargs.get("closure")):
            return args, kwargs | {"closure": self._evaluated(kwargs["closure"], step)}
        return None

    def _evaluated(self, closure: Function, step: Stepping) -> Function:
        """The closure, with a `Step` for the evaluation before it: that one has just been used."""

        def evaluate() -> Any:
            if step.evaluations:
                self._write_step(step)
            step.evaluations += 1
            with self.journal.script_at_work():
                loss = closure()
            step.before = self._look(step.optimizer)
            return loss

        return evaluate

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        # A step that raised has left its entry behind.
        while (step := self._running.pop()).optimizer is not optimizer:
            pass
        self._write_step(step)

    def _write_step(self, step: Stepping) -> None:
        journal = self.journal
        found_inf = getattr(step.optimizer, "found_inf", None)
        if isinstance(found_inf, Tensor) and bool(found_inf):
            # A fused optimizer is called even on an overflow, and holds back by itself.
            return
        moved = {
            name for name, seen in step.before.items() if seen.moved_since(journal.cells[name])
        }
        bad = {name for name, seen in step.before.items() if not finite(seen.held)}
        event = Step(
            step.at,
            step.name,
            scaler=self.scaler,
            moved=frozenset(moved - journal.fresh),
            non_finite=frozenset(bad),
        )
        journal.look()
        journal.post(event)
        self.stepped.append(event)
        self.replicas.after(event, parameters(step.optimizer))

    def _look(self, optimizer: Optimizer) -> dict[str, Sighting]:
        cells = self.journal.cells
        return {name: Sighting.of(cells[name]) for name in sorted(self.cells(optimizer))}

    # Clearing

    def _around_zero_grad(self, real: Function) -> Function:
        def zero_grad(holder: Optimizer | nn.Module, set_to_none: bool = True) -> None:
            if self.journal.at_work:
                real(holder, set_to_none)
                return
            with self.journal.call() as at:
                cells = self.journal.cells.names(parameters(holder))
                self.journal.meet(cells, at)
                real(holder, set_to_none)
                self.journal.post(Clear(at, cells, to_none=set_to_none))

        return zero_grad


def parameters(holder: Optimizer | nn.Module) -> list[Tensor]:
    """The parameters that an optimizer or a module holds."""
    if isinstance(holder, nn.Module):
        return list(holder.parameters())
    return [p for group in holder.param_groups for p in group["params"]]
