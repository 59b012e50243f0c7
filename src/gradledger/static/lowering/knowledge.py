"""What was found out about functions and classes, for all the roots of a file."""

from __future__ import annotations

from gradledger.static import syntax as ast
from gradledger.static.lowering.values import ClassDef, Known

Callee = tuple[int, int]
"""A function, and the class of the object that it is a method of."""


class Knowledge:
    """Answers by the identity of the trees that they are about.

    The trees live as long as this does, so that no identity is used twice.
    """

    def __init__(self) -> None:
        self.interesting: dict[Callee, bool] = {}
        self.depositing: dict[Callee, bool] = {}
        self.spending: dict[Callee, bool] = {}
        self.doing: dict[Callee, bool] = {}
        self.attaching: dict[Callee, bool] = {}
        self.in_sight: dict[Callee, bool] = {}
        """Whether what deposits there is code that can be followed."""
        self.asked: dict[int, frozenset[str]] = {}
        """By function, the names in it that must be nets."""
        self.generators: dict[int, bool] = {}
        self.backwarded: dict[int, set[str]] = {}
        self.spelled: dict[int, str] = {}
        """Conditions, as `ast.unparse` writes them."""
        self.dividing: dict[int, frozenset[str]] = {}
        self.summing: dict[int, bool] = {}
        self.several: dict[int, bool] = {}
        self.settings: dict[int, dict[str, set[object]]] = {}
        """By module, the names of sizes that its data is a multiple of."""
        self.branches: dict[int, ast.If] = {}
        """For statements like `amp and scaler.update()`, the `if` that they stand for."""
        self.impure: dict[int, bool] = {}
        """Whether there are calls in an expression."""
        self.only_called: dict[int, frozenset[str]] = {}
        """By tree, the names of modules that are made and called, and nothing else."""
        self.lineages: dict[int, list[ClassDef]] = {}
        self.bases_outside: dict[int, list[str]] = {}
        self.definitions: dict[tuple[int, str], Known | None] = {}
        """By module, what its top level defines by a name."""
        self.handed_again: dict[tuple[int, str], bool] = {}
        """By module, and by the names of models: whether it hands their parameters over twice."""
