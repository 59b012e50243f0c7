"""Whole cycles inside of a root that could not be followed: each is a root by itself.

`learn()` collects data, logs, evaluates and trains, on more paths than can be followed. Its
`train()` deposits, steps and clears, and can be judged alone, with what it is given as objects of
which nothing is known. Who leaves the clears to its caller, is not judged without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradledger.ledger.values import replace
from gradledger.static.domain.scopes import Callee
from gradledger.static.domain.values import ClassDef, FunctionDef, Thing
from gradledger.static.lower.attributes import method_of
from gradledger.static.lower.call_graph import keeps_cycle, reaches
from gradledger.static.lower.lowering import Following
from gradledger.static.lower.root import Root
from gradledger.static.project.module import Function
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import BACKWARDS, UPDATES

CLEARS = Pattern(r"zero_grad|\.grad = None", words=("zero_grad", ".grad = None"))
_CALLED = Pattern(r"(\w+)\(")


class InnerCycles:
    """The functions of a file that hold a whole cycle, and which of them were judged alone."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._module = following.module
        self._clearing: dict[Callee, bool] = {}
        self._tried: set[int] = set()
        self.judged: set[int] = set()
        """Functions that were come through from one that was judged, by identity."""

    def inside(self, root: Root) -> Iterator[Root]:
        """The largest functions in it that hold a whole cycle, those who call others first."""
        if root.machine is None or root.machine.log.hooked:
            return
        calls = Counter(_CALLED.findall(self._module.source))
        inside = [each for each in self._functions() if self._is_inside(each[1], root)]
        for cls, function in sorted(inside, key=lambda each: calls[_name(each[1])]):
            if id(function.node) in self._tried | self.judged:
                continue
            if not self._is_whole(function, root):
                continue
            self._tried.add(id(function.node))
            if cls is None:
                assert isinstance(function.node, Function)
                yield self._following.function(function.node)
            else:
                yield self._following.method(cls, function, _name(function))

    def was_judged(self, root: Root) -> None:
        """One of these was followed to its end."""
        assert root.machine is not None
        self.judged |= {*root.machine.log.inlined, id(root.node)}

    def cover(self, root: Root) -> bool:
        """Is all that deposits in the root a part of what was judged by itself?"""
        depositing = [f for _, f in self._functions() if self._deposits(f.node)]
        if root.program is not None:
            depositing = [f for f in depositing if self._is_inside(f, root)]
        own = root.node is not None and root.node is not self._module.tree
        if (own and self._deposits(root.node)) or not depositing:  # type: ignore[arg-type]
            return False
        return all(id(f.node) in self.judged for f in depositing) and not self._script_deposits()

    def _functions(self) -> Iterator[tuple[ClassDef | None, FunctionDef]]:
        for definition in self._module.definitions.values():
            if isinstance(definition, Function):
                yield None, FunctionDef(definition, self._module, "")
            elif isinstance(definition, ast.ClassDef):
                cls = ClassDef(definition, self._module)
                for statement in definition.body:
                    if isinstance(statement, Function) and statement.name != "__init__":
                        method = method_of(self._following.top, cls, statement.name)
                        if method is not None and method.node is statement:
                            yield cls, replace(method, bound=Thing("self", cls=cls))

    def _is_inside(self, function: FunctionDef, root: Root) -> bool:
        assert root.machine is not None
        return id(function.node) in root.machine.log.inlined and function.node is not root.node

    def _is_whole(self, function: FunctionDef, root: Root) -> bool:
        """Does it deposit, step and clear; or does nobody clear, who could do it for him?"""
        top = self._following.top
        if not keeps_cycle(top, function):
            return False
        if reaches(top, function, self._clearing, lambda f: f.module.says(CLEARS, f.node)):
            return True
        assert root.machine is not None
        modules = {scope.module for scope in root.machine.log.scopes.values()}
        return not any(module.says_anywhere(CLEARS) for module in modules)

    def _deposits(self, node: ast.AST) -> bool:
        return self._module.says(BACKWARDS, node) or self._module.says(UPDATES, node)

    def _script_deposits(self) -> bool:
        defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        inside = self._module.tree.body
        return any(self._deposits(each) for each in inside if not isinstance(each, defined))


def _name(function: FunctionDef) -> str:
    return getattr(function.node, "name", "")
