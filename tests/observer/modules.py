"""Watches modules: parameters that are exchanged, and states handed on with their graph."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from gradledger.ledger.events import Keep, Release, Replace
from gradledger.ledger.places import Place
from tests.observer.backwards import BEHIND_STATE, REPLICA, STATE, State
from tests.observer.graphs import mark, marks, nodes, tensors
from tests.observer.journal import Journal
from tests.observer.patches import Function, Patches


class Modules:
    """Writes `Replace`, and `Keep` and `Release` of states."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._depth = 0
        self._states: dict[int, State] = {}
        """For each module whose last call gave back a state with a graph, that state."""
        self._at: dict[Place, State] = {}
        """The latest state that was given back at a place, by whatever module."""

    def watch(self, patches: Patches) -> None:
        """Observe all modules until the patches are closed."""
        patches.around(nn.Module, "__call__", self._around_call)
        patches.around(nn.Module, "__setattr__", self._around_exchange)
        patches.around(nn.Module, "register_parameter", self._around_exchange)
        patches.around(nn.Module, "add_module", self._around_exchange)

    # Calls

    def _around_call(self, real: Function) -> Function:
        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            outermost = not self._depth
            if outermost and torch.is_grad_enabled():
                self._release(module, (args, kwargs))
            self._depth += 1
            try:
                result = real(module, *args, **kwargs)
            finally:
                self._depth -= 1
            if isinstance(module, DistributedDataParallel) and torch.is_grad_enabled():
                # The forward decides whether the backward will average.
                for output in tensors(result):
                    mark(output.grad_fn, REPLICA, module.require_backward_grad_sync)
            if outermost and isinstance(result, tuple):
                self._keep(module, result)
            return result

        return call

    def _keep(self, module: nn.Module, result: tuple[Any, ...]) -> None:
        given = [state for state in tensors(result[1:]) if state.grad_fn is not None]
        if given:
            here = self.journal.here()
            before = self._at.get(here)
            if before and not any(before in marks(node, STATE) for node in nodes(given)):
                # Another module was called here, or this one anew: nothing is built on the old one.
                self.journal.post(Release(here, here))
            state = self._states[id(module)] = self._at[here] = State(here)
            for part in given:
                mark(part.grad_fn, STATE, state)
            for node in nodes(given):
                mark(node, BEHIND_STATE, state)
            self.journal.post(Keep(state.at, "state"))

    def _release(self, module: nn.Module, inputs: object) -> None:
        kept = self._states.get(id(module))
        if kept is None:
            return
        if any(kept in marks(node, STATE) for node in nodes(tensors(inputs))):
            kept.carried = kept.walked
        else:
            del self._states[id(module)]
            self.journal.post(Release(self.journal.here(), kept.at))

    # Exchanges

    def _around_exchange(self, real: Function) -> Function:
        def exchange(module: nn.Module, name: str, value: Any) -> None:
            old = _parameters(module.__dict__, name)
            real(module, name, value)
            new = _parameters(module.__dict__, name)
            known = [p for p in old if self.journal.cells.knows(p) and not _among(p, new)]
            if known:
                at = self.journal.here()
                cells, by = self.journal.cells.names(known), self.journal.cells.names(new)
                self.journal.meet(by, at)
                self.journal.post(Replace(at, cells, by))

        return exchange


def _parameters(attributes: dict[str, Any], name: str) -> list[Tensor]:
    """The parameters that a module's attribute is or has."""
    parameter = attributes.get("_parameters", {}).get(name)
    child = attributes.get("_modules", {}).get(name)
    if parameter is not None:
        return [parameter]
    return [] if child is None else list(child.parameters())


def _among(leaf: Tensor, others: list[Tensor]) -> bool:
    return any(leaf is other for other in others)
