"""Do the iterations of a loop differ in nothing but their data?

A round that knows which one it is may be a task, a domain or an agent of its own, and so may one
that has picked something for itself: a name, an object, a weight. What a round makes counts only
if it goes on into the loss, as far as the code of the loop shows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import partial
from types import FrameType, ModuleType
from typing import Any

from torch import Tensor, nn

from gradledger.runtime.program.objects import attributes, elements, is_a, is_numpys
from gradledger.runtime.program.variables import variables

Rows = frozenset[int]
"""How many rows the data of a pass have."""


def number_of_round(loop: ast.stmt, frame: FrameType) -> int | None:
    """What the loop has counted to, if it counts: by `range` or `enumerate` say, or in a variable
    of its own that decides about the step."""
    values = _values(frame)
    numbers = (values.get(name) for name in (*_targets(loop), *_counters(loop)))
    return next((number for number in numbers if type(number) is int), None)


def draw_alike(loop: ast.stmt, frame: FrameType, rows: Rows) -> bool:
    """Does each round of `for _ in range(n)` draw data of its own, and differ in nothing else?"""
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
        return False
    body = _Body(loop, frame)
    own = {name for name, value in body.made() if not _is_data(value, rows)}
    return not body.go_on({*body.targets, *own}) and not any(
        _rows(value) in rows for value in body.kept()
    )


def slice_alike(loop: ast.stmt, frame: FrameType, rows: Rows) -> bool:
    """The same for rounds that cut their data from one tensor, by their number perhaps."""
    body = _Body(loop, frame)
    made = {name for name, value in body.made() if not _is_data(value, rows)}
    return not body.go_on({name for name in made if type(body.values[name]) is not int})


def _values(frame: FrameType) -> dict[str, object]:
    return dict.copy(frame.f_globals) | variables(frame)


def _targets(loop: ast.stmt) -> list[str]:
    """The names that a loop gives to what it goes through."""
    target = loop.target if isinstance(loop, ast.For) else ast.Pass()
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


def _counters(loop: ast.stmt) -> list[str]:
    """The names that a loop counts up in each round, and asks before it steps."""
    nodes = list(ast.walk(loop))
    asked = {
        name.id
        for node in nodes
        if isinstance(node, ast.If) and any(map(_steps, ast.walk(node)))
        for name in ast.walk(node.test)
        if isinstance(name, ast.Name)
    }
    return [
        node.target.id
        for node in nodes
        if isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and isinstance(node.target, ast.Name)
        and isinstance(node.value, ast.Constant)
        and node.value.value == 1
        and node.target.id in asked
    ]


def _steps(node: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Attribute(attr=called) | ast.Name(id=called)):
            return "step" in called
    return False


class _Body:
    """What a loop's own code does with the variables that it makes in each round."""

    def __init__(self, loop: ast.stmt, frame: FrameType) -> None:
        self._line = frame.f_lineno
        self._parents: dict[ast.AST, ast.AST] = {}
        self.values = _values(frame)
        self.targets = set(_targets(loop))
        names = list(self._names(loop))
        inside = [n for n in names if n.lineno > loop.lineno]
        self._loads = [n for n in inside if isinstance(n.ctx, ast.Load)]
        self._stored = {n.id for n in inside if isinstance(n.ctx, ast.Store) and self._varies(n)}
        self._stored |= self.targets

    def _names(self, node: ast.AST) -> Iterator[ast.Name]:
        for child in ast.iter_child_nodes(node):
            self._parents[child] = node
            if isinstance(child, ast.Name):
                yield child
            yield from self._names(child)

    def _varies(self, stored: ast.Name) -> bool:
        """Is it neither a constant, nor what a loop of the round's own goes through?"""
        inner: ast.AST = stored
        for parent in self._out_from(stored):
            match parent:
                case ast.For(target=target) | ast.comprehension(target=target) if target is inner:
                    return False
                case ast.Assign(value=ast.Constant()):
                    return False
            inner = parent
        return True

    def _out_from(self, node: ast.AST) -> Iterator[ast.AST]:
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def made(self) -> Iterator[tuple[str, object]]:
        """What each round makes for itself."""
        return ((name, self.values[name]) for name in self._stored if name in self.values)

    def kept(self) -> Iterator[object]:
        """The tensors and arrays that all rounds use."""
        for name in {n.id for n in self._loads} - self._stored:
            yield from _held(self.values.get(name))

    def go_on(self, names: set[str]) -> bool:
        """Is one of these used for more than a message, a sum of its own, or a question?"""
        return any(n.id in names and not self._is_harmless(n, names) for n in self._loads)

    def _is_harmless(self, load: ast.Name, names: set[str]) -> bool:
        inner: ast.AST = load
        asked = picks = False
        for outer in self._out_from(load):
            match outer:
                case ast.JoinedStr() | ast.withitem() | ast.Call(ast.Name("print")):
                    return True
                case ast.Compare():
                    asked = True
                case ast.IfExp(test=test):
                    picks = picks or test is inner
                case ast.If(test=test) | ast.While(test=test) if test is inner:
                    return _stores(outer) <= names
                case ast.Assign(targets=targets):
                    if all(isinstance(t, ast.Name) and t.id in names for t in targets):
                        return True
                    return asked and not picks and isinstance(targets[0], ast.Attribute)
                case ast.AugAssign(target=ast.Name(name)):
                    return name in names
                case ast.Expr():
                    # Behind the backward a result is written down.
                    return load.id not in self.targets and outer.lineno > self._line
                case ast.stmt():
                    return False
            inner = outer
        return False


def _stores(block: ast.AST) -> set[str]:
    found = (n for n in ast.walk(block) if isinstance(n, ast.Name))
    return {n.id for n in found if isinstance(n.ctx, ast.Store)}


def _is_data(value: object, rows: Rows, depth: int = 2) -> bool:
    """Could a loss be computed from it, or is it what a model has made?"""
    if value is None:
        return True
    if is_a(value, Tensor):
        return value.requires_grad or value.numel() != 1 or 1 in rows
    if _rows(value) is not None:
        return True
    parts = elements(value)
    if parts is None:
        made = list(attributes(value).values())
        return any(is_a(part, Tensor) and part.requires_grad for part in made)
    # Indices or texts: one for each row.
    return len(parts) in rows or bool(
        depth and parts and all(map(partial(_is_data, rows=rows, depth=depth - 1), parts))
    )


def _rows(value: Any) -> int | None:
    """Of a tensor or an array."""
    if is_a(value, nn.Parameter):
        return None
    if is_a(value, Tensor) or is_numpys(value):
        shape = getattr(value, "shape", ())
        return int(shape[0]) if shape else None
    return None


def _held(value: object) -> Iterable[object]:
    """What it is, has in it or bears."""
    if is_a(value, nn.Module) or is_a(value, ModuleType) or is_a(value, type):
        return ()
    parts = elements(value)
    if parts is None:
        parts = list(attributes(value).values())
    return (value, *parts, *(inner for part in parts for inner in elements(part) or ()))
