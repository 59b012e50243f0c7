"""Which variable of the program holds a graph, and which statement put it there."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import cast

from torch import Tensor
from torch.autograd.graph import Node

from gradledger.ledger.places import Place
from gradledger.runtime.graphs import nodes
from gradledger.runtime.places import Places
from gradledger.runtime.sources import Source
from gradledger.runtime.variables import variables

Wanted = Callable[[Node], bool]
Does = Callable[[ast.stmt, str], bool]

_PUTTING = {"append", "extend", "insert", "add", "update", "appendleft", "setdefault", "put"}
_NEAR = 5_000
"""Nodes behind a variable that are looked at."""


class Holders:
    """Looks through the variables of the running frames."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def keeper(self, wanted: Wanted, frame: FrameType) -> Place | None:
        """The sum or append that keeps such a node alive."""
        return self._search(wanted, frame, _keeps)

    def carrier(self, wanted: Wanted, frame: FrameType) -> Place | None:
        """The assignment that carries such a node from one iteration to the next."""
        return self._search(wanted, frame, _carries)

    def _search(self, wanted: Wanted, frame: FrameType, does: Does) -> Place | None:
        for running in self._places.frames(frame):
            source = self._places.source(running.f_code.co_filename)
            for name, value in variables(running).items():
                for holder, held in _parts(name, value):
                    if _reaches(held, wanted):
                        statements = source.statements_of(running.f_code)
                        place = _first(source, statements, holder, does) or self._inside(
                            source, holder, does
                        )
                        if place is not None:
                            return place
        return None

    def _inside(self, source: Source, holder: str, does: Does) -> Place | None:
        """A statement that does it to an attribute, in a method of the object's own class."""
        if "." not in holder:
            return None
        name = f"self.{holder.rpartition('.')[2]}"
        files = [source, *map(self._places.source, list(self._places.met))]
        found = (_first(file, file.statements, name, does) for file in dict.fromkeys(files))
        return next((place for place in found if place is not None), None)


def _first(source: Source, statements: list[ast.stmt], name: str, does: Does) -> Place | None:
    for statement in statements:
        if does(statement, name):
            return Place(source.path, statement.lineno, statement.col_offset)
    return None


def _parts(name: str, value: object, depth: int = 2) -> Iterator[tuple[str, list[Tensor]]]:
    """A variable, its items and its attributes, as far as they are tensors."""
    kind = type(value)  # not what it says that it is: some objects warn when they are asked
    if issubclass(kind, ModuleType):
        return
    if issubclass(kind, Tensor):
        yield name, [cast(Tensor, value)]
    elif isinstance(value, list | tuple | dict):
        items = list(value.values() if isinstance(value, dict) else value)
        held = [item for item in (*items[:3], *items[-3:]) if isinstance(item, Tensor)]
        if held:
            yield name, held
        elif depth and items:
            yield from _parts(name, items[0], depth - 1)
    elif depth and not issubclass(kind, type):
        attributes = getattr(value, "__dict__", None)
        for attribute, part in list(attributes.items()) if isinstance(attributes, dict) else ():
            yield from _parts(f"{name}.{attribute}", part, depth - 1)


def _reaches(held: list[Tensor], wanted: Wanted) -> bool:
    return any(map(wanted, nodes(held, _NEAR)))


def _keeps(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.AugAssign(target):
            return _holder(target) == name
        case ast.Assign(targets, value):
            if any(isinstance(t, ast.Subscript) and _holder(t) == name for t in targets):
                return True
            return any(ast.unparse(t) == name for t in targets) and _mentions(value, name)
        case ast.Expr(ast.Call(ast.Attribute(value, method))):
            return method in _PUTTING and _holder(value) == name
    return False


def _carries(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.AugAssign(target):
            return _holder(target) == name
        case ast.Assign(targets, value):
            assigned = [name for target in targets for name in _assigned(target)]
            return name in assigned and _mentions(value, name)
    return False


def _assigned(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _assigned(part)
    else:
        yield _holder(target)


def _holder(target: ast.expr) -> str:
    """`losses` of `losses[i]`."""
    while isinstance(target, ast.Subscript | ast.Starred):
        target = target.value
    return ast.unparse(target)


def _mentions(value: ast.expr, name: str) -> bool:
    return any(
        isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) == name
        for node in ast.walk(value)
    )
