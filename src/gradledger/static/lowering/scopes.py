"""Where a walk is: in the scope of which call, and in which loops."""

from __future__ import annotations

import re

from gradledger.ledger.places import Place
from gradledger.static import syntax as ast
from gradledger.static.lowering.values import Known
from gradledger.static.module import Module
from gradledger.static.patterns import Pattern


class Scope:
    """The names of one call of a function, or of a module."""

    __slots__ = (
        "cls",
        "id",
        "module",
        "node",
        "parent",
        "returned",
        "self_value",
        "via",
    )

    def __init__(
        self,
        id: str,
        module: Module,
        *,
        parent: str | None = None,
        via: Place | None = None,
        node: ast.AST | None = None,
    ) -> None:
        self.id = id
        """In front of every name: empty for the root."""
        self.module = module
        self.parent = parent
        """The scope that it was defined in."""
        self.via = via
        self.node = node
        self.returned: list[Known] = []
        self.self_value: Known | None = None
        self.cls: object = None


DATA = Pattern(r"load|data|iter|batch|val|test|dev|held|dl\b", re.IGNORECASE)
"""Names of data that is gone through batch by batch."""


NUMBERS = Pattern(r"\.(?:item|detach|data|numpy|tolist|argmax)\b|float\(")
"""Words of expressions that have no graph."""


class LoopState:
    """A loop that is being walked."""

    __slots__ = (
        *("assigned", "born", "first", "id", "last", "length", "of_data", "read"),
        *("node", "set_back", "windows"),
    )

    def __init__(self, id: str) -> None:
        self.id = id
        self.assigned: dict[str, Place] = {}
        self.born: set[str] = set()
        """Objects that it makes, in each round others."""
        self.read: set[str] = set()
        """Names that were looked at before they were assigned in this round."""
        self.windows: dict[str, tuple[str, str, int]] = {}
        """Counters that close windows: the conditions for the first and the last micro-batch, and
        the size, 0 where that does not stand in the source."""
        self.set_back: dict[str, int] = {}
        """Counters that a round may set back to where they began, and where that is."""
        self.last: str | None = None
        self.first: str | None = None
        self.of_data = False
        """It goes through data, as it comes, and not through numbers."""
        self.node: ast.For | None = None
        """Where it stands."""
        self.length = ""
        """How it is spelled how often the loop goes round."""

    def is_of_all_data(self, around: list[LoopState]) -> bool:
        """Does it go through a data set, and not through parts of what another loop draws?"""
        if not self.of_data or self.node is None:
            return False
        source = self.node.iter
        names = {node.id for node in ast.walk(source) if isinstance(node, ast.Name)}
        given = {full.rpartition(":")[2] for loop in around for full in loop.assigned}
        return not names & given and bool(DATA.search(ast.unparse(source)))


def hands_on(loop: ast.For) -> bool:
    """May a round leave tensors behind, with their graphs, in other things than sums?"""
    for node in ast.walk(loop):
        match node:
            case ast.Yield() | ast.YieldFrom():
                return True
            case ast.Call(func=ast.Attribute(attr="append" | "extend" | "update" | "add")):
                if not NUMBERS.search(ast.unparse(node)):
                    return True
            case ast.Assign(targets=targets):
                if any(isinstance(target, ast.Subscript | ast.Attribute) for target in targets):
                    return True
    return False
