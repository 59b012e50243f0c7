"""Whether code freezes anything, in whatever way it says so."""

from __future__ import annotations

import re
from collections.abc import Collection

from gradledger.static.ir.keys import within
from gradledger.static.lower.root import Root
from gradledger.static.project.module import Function, Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

FREEZES = Pattern(
    r"\.requires_grad(?:_\(|\s*=(?!=))\s*(?!True)\w|[\"']requires_grad[\"']\s*,\s*(?!True)\w"
)


def may_freeze(root: Root) -> bool:
    """True if something in the root is frozen, and nobody knows what."""
    if root.turns:
        return any(map(may_freeze, root.turns))
    machine, node = root.machine, root.node
    if machine is None or node is None or _knows_what_is_frozen(machine):
        return False
    return freezes(machine.context.scope.module, node, machine.log.inlined)


def _knows_what_is_frozen(machine: Machine) -> bool:
    """True if one of the nets that an optimizer has was seen to be frozen."""
    held = [key for optimizer in machine.log.optimizers.values() for key in optimizer.keys or ()]
    return any(within(key, k) or within(k, key) for key in machine.log.ever_frozen for k in held)


def freezes(module: Module, root: ast.AST, inlined: Collection[int]) -> bool:
    """Does a root, with what was followed from there or is spoken of, take gradients away?"""
    if not FREEZES.search(module.source):
        return False
    left = {
        name: module.text(part)
        for name, part in module.definitions.items()
        if isinstance(part, Function | ast.ClassDef)
        if not any(inner is root or id(inner) in inlined for inner in (part, *part.body))
    }
    said = module.source
    for text in left.values():
        said = said.replace(text, "")
    while not FREEZES.search(said):
        spoken = [name for name in left if re.search(rf"\b{name}\b", said)]
        if not spoken:
            return False
        said = "\n".join(map(left.pop, spoken))
    return True
