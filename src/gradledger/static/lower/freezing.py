"""Whether code freezes anything, in whatever way it says so."""

from __future__ import annotations

import re
from collections.abc import Collection

from gradledger.static.project.module import Function, Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

FREEZES = Pattern(
    r"\.requires_grad(?:_\(|\s*=(?!=))\s*(?!True)\w|[\"']requires_grad[\"']\s*,\s*(?!True)\w"
)


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
