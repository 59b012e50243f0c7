"""Watches `torch.autograd.backward`, which `Tensor.backward` looks up when it is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node

from gradledger.ledger.events import Backward, Sync, Weight
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from tests.observer import weights
from tests.observer.graphs import leaves, mark, marks, nodes, tensors
from tests.observer.journal import Journal
from tests.observer.patches import Function, Patches
from tests.observer.sightings import finite

RETAINED = "retained by"
KEPT = "kept at"
STATE = "handed on as"
BEHIND_STATE = "behind"
REPLICA = "came out of a replica that will average"


@dataclass(eq=False)
class State:
    """A state that a module gave back with its graph."""

    at: Place
    walked: bool = False
    carried: bool = False
    """After a backward had walked it, it went into the module again with its graph."""


class Backwards:
    """Writes a `Backward` for each pass, with the cells that it really put something into."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.framework_divides = False
        self.given: weights.Loss | None = None
        """What the script handed to a framework that divides it further."""

    def watch(self, patches: Patches) -> None:
        """Observe every backward pass until the patches are closed."""
        patches.around(torch.autograd, "backward", self._around)

    def _around(self, real: Function) -> Function:
        def backward(tensors_: Any, *args: Any, **kwargs: Any) -> None:
            if self.journal.at_work:  # a checkpoint's own pass, inside another one
                real(tensors_, *args, **kwargs)
                return
            roots = list(tensors(tensors_))
            graph = nodes(roots)
            reached = leaves(roots, graph)
            at = self.journal.here()
            names = self.journal.cells.names(reached)
            self.journal.meet(names, at)
            event = self._foreseen(at, roots, graph, _retains(args, kwargs))
            partial = True
            with self.journal.call():
                before = {name: self.journal.seen(name) for name in names}
                try:
                    real(tensors_, *args, **kwargs)
                    partial = False
                finally:
                    if event.retain_graph:
                        for node in graph:
                            mark(node, RETAINED, at)
                    cells = self.journal.cells
                    got = {n for n in names if before[n].deposit_since(cells[n])}
                    bad = {n for n in got if finite(before[n].held) and not finite(cells[n].grad)}
                    self.journal.post(
                        replace(
                            event,
                            cells=frozenset(got),
                            non_finite=frozenset(bad),
                            partial=partial,
                        )
                    )
                    if any(True in marks(node, REPLICA) for node in graph) and not partial:
                        self.journal.post(Sync(at, frozenset(got)))

        return backward

    def _foreseen(
        self, at: Place, roots: list[Tensor], graph: list[Node], retain: bool
    ) -> Backward:
        """All that the graph tells before the pass frees it."""
        loss = weights.read(roots[0]) if len(roots) == 1 else weights.Loss(Weight())
        weight = loss.weight
        if self.given is not None:
            weight = replace(self.given.weight, framework_divides=self.framework_divides)
        return Backward(
            at,
            frozenset(),
            weight,
            loss.scaler,
            local=any(marks(node, REPLICA) for node in graph),
            retain_graph=retain,
            walks=frozenset(_walks(graph)),
        )


def _walks(graph: list[Node]) -> Iterator[Place]:
    for node in graph:
        yield from marks(node, RETAINED)
        yield from marks(node, KEPT)
    states = {state for node in graph for state in marks(node, BEHIND_STATE)}
    for state in states:
        # Two losses on one state walk it twice, and nothing was carried anywhere.
        if state.carried or not state.walked:
            yield state.at
        state.walked = True


def _retains(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    given = dict(zip(("grad_tensors", "retain_graph", "create_graph"), args, strict=False)) | kwargs
    retain, create = given.get("retain_graph"), given.get("create_graph", False)
    return bool(create if retain is None else retain)
