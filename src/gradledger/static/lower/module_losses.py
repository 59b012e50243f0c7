"""Losses of torch's that a module of the project's own holds, told by the text of its class."""

from __future__ import annotations

from collections import Counter

from gradledger.static.domain.values import ClassDef
from gradledger.static.lower.spelling import called_name
from gradledger.static.models.facts import MEAN_MODULES
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

MAKES_LOSSES = Pattern(r"Loss(?:2d)?\(", words=("Loss",))


def held_losses(cls: ClassDef) -> dict[str, ast.Call]:
    """What makes each loss that an object has, by its name; without those that are given twice."""
    if not cls.module.says(MAKES_LOSSES, cls.node):
        return {}
    given: Counter[str] = Counter()
    made: dict[str, ast.Call] = {}
    for node in ast.walk(cls.node):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()):
                given[name] += 1
            case ast.Assign([ast.Attribute(attr=name)], ast.Call() as call):
                if called_name(call) in MEAN_MODULES:
                    made[name] = call
    return {name: call for name, call in made.items() if given[name] == 1}
