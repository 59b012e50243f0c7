"""Losses of torch's that a module of the project's own holds, told by the text of its class."""

from __future__ import annotations

import ast

from gradledger.static.lowering.facts import MEAN_MODULES
from gradledger.static.lowering.spelling import called_name
from gradledger.static.lowering.values import ClassDef
from gradledger.static.patterns import Pattern

MAKES_LOSSES = Pattern(r"Loss(?:2d)?\(", words=("Loss",))


def held_loss(cls: ClassDef, name: str) -> ast.Call | None:
    """What makes the loss that an object has by this name; None where it may have another thing."""
    if not cls.module.says(MAKES_LOSSES, cls.node):
        return None
    set_times, made = 0, None
    for node in ast.walk(cls.node):
        match node:
            case ast.Attribute(attr=attribute, ctx=ast.Store()):
                set_times += attribute == name
            case ast.Assign([ast.Attribute(attr=attribute)], ast.Call() as call):
                if attribute == name and called_name(call) in MEAN_MODULES:
                    made = call
    return made if set_times == 1 else None
