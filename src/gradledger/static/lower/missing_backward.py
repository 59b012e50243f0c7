"""Optimizers that step in code which never walks back from a loss."""

from __future__ import annotations

from gradledger.static.domain.values import Thing
from gradledger.static.ir.blocks import holds
from gradledger.static.ir.effects import Deposits, Spends
from gradledger.static.ir.keys import NO_KEYS, Keys
from gradledger.static.lower.root import Root
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

WALKS = Pattern(r"backward|autograd|\bgrad\b|closure|vjp|jvp|and_grad|functorch")
"""Words of code that may fill gradients, in whatever way."""


def optimizers_without_backward(root: Root) -> Keys:
    """Optimizers of nets that compute something, which nobody in sight ever walks back from."""
    machine, program = root.machine, root.program
    if machine is None or program is None or not holds(program, Spends) or holds(program, Deposits):
        return NO_KEYS
    if any(map(_may_walk, {scope.module for scope in machine.log.scopes.values()})):
        return NO_KEYS
    things = [
        t for t in machine.flow.store.values() if isinstance(t, Thing) and t.sure and not t.plain
    ]
    computed = frozenset().union(*(thing.reach for thing in things)) - machine.log.given_away
    return frozenset(
        name
        for name, optimizer in machine.log.optimizers.items()
        if optimizer.torchs and not optimizer.outside
        if optimizer.keys and optimizer.keys <= computed
    )


def _may_walk(module: Module) -> bool:
    """Does something in its code, comments aside, have a name of those who fill gradients?"""
    return module.says_anywhere(WALKS) and any(
        WALKS.search(
            getattr(node, "attr", "") or getattr(node, "id", "") or getattr(node, "name", "")
        )
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute | ast.Name | ast.FunctionDef | ast.ClassDef | ast.alias)
    )
