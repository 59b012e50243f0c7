"""Whether a module of the project's own may have parameters."""

from __future__ import annotations

from gradledger.static import syntax as ast
from gradledger.static.lowering.values import ClassDef
from gradledger.static.words import Pattern

LAYERS = Pattern(r"\bnn\.[A-Z]\w*\(|Parameter\(|Linear\(|Conv\dd\(|Embedding\(")
"""Words of modules that have parameters, or others in them."""


def is_layer(cls: ClassDef) -> bool:
    """May a module of the project's own have parameters? A loss that only computes has none."""
    bases = {ast.unparse(base).rpartition(".")[2] for base in cls.node.bases}
    return bases != {"Module"} or bool(LAYERS.search(cls.module.text(cls.node)))
