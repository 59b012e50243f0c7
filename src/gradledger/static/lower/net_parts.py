"""Layers that are only a part of a net: to clear one of them leaves the gradients of the others."""

from __future__ import annotations

from gradledger.static.domain.values import External, Thing
from gradledger.static.ir.keys import Keys
from gradledger.static.lower.attributes import bases_outside, lineage
from gradledger.static.lower.names import in_module
from gradledger.static.lower.root import Root
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import CUTS, NO_GRADIENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.domain.values import ClassDef
    from gradledger.static.lower.machine import Machine

HEADS = frozenset(["fc", "classifier", "head", "heads"])
"""The last layers of the nets of `torchvision.models`."""

FREEZES = Pattern(r"requires_grad|[fF]reez", words=("requires_grad", "reez"))
"""Words of code that freezes something: the head may be all that trains."""


def are_parts_alone(root: Root, cells: Keys, of: Keys) -> bool:
    """Is each of these surely one layer of one of those nets, with others that train too?"""
    machine = root.machine
    return machine is not None and all(
        part.rpartition(".")[0] in of and _has_others(machine, *part.rpartition(".")[::2])
        for part in cells
    )


def _has_others(machine: Machine, net: str, layer: str) -> bool:
    """Has the net surely layers with parameters beside this one?"""
    made = machine.flow.store.get(net)
    if not isinstance(made, Thing) or machine.context.scope.module.says_anywhere(FREEZES):
        return False
    if made.cls is None:
        return layer in HEADS and made.built.startswith("torchvision.models.")
    cls = made.cls
    if len(lineage(machine, cls)) > 1 or bases_outside(machine, cls) != ["torch.nn.Module"]:
        return False
    if any(cls.module.says(words, cls.node) for words in (CUTS, NO_GRADIENTS, FREEZES)):
        return False
    layers = set(_layers(machine, cls))
    return layer in layers and len(layers) > 1


def _layers(machine: Machine, cls: ClassDef) -> list[str]:
    """The attributes that the class assigns a layer of `torch.nn` with parameters to."""
    found = []
    for node in ast.walk(cls.node):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            found += [
                name.attr
                for name, value in pairs
                if isinstance(name, ast.Attribute) and _is_layer(machine, cls, value)
            ]
    return found


def _is_layer(machine: Machine, cls: ClassDef, value: ast.AST) -> bool:
    if not isinstance(value, ast.Call):
        return False
    made = in_module(machine, cls.module, value.func)
    return (
        isinstance(made, External)
        and facts.has_parameters(made.dotted)
        and facts.last(made.dotted) not in facts.CONTAINERS
    )
