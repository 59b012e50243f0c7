"""A text and its statements: which one stands where, and what is around it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from gradledger.static.source import syntax as ast

_LINE_END = re.compile(r"\r\n|\r|\n")  # as Python counts lines
_NOTHING_ELSE = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")

Loop = ast.For | ast.AsyncFor | ast.While
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


class Statement:
    """A statement among its neighbours."""

    __slots__ = ("block", "index", "loop", "node", "parent", "scope")

    def __init__(
        self,
        node: ast.stmt,
        block: list[ast.stmt],
        index: int,
        parent: Statement | None,
        scope: Scope,
        loop: Loop | None,
    ) -> None:
        self.node = node
        self.block = block
        """The statements of which it is one."""
        self.index = index
        self.parent = parent
        """The statement in whose body it stands."""
        self.scope = scope
        """The function around it, or the module."""
        self.loop = loop
        """The nearest loop around it in its scope."""

    def follows(self, other: Statement) -> bool:
        """Does it come later in the same block?"""
        return self.block is other.block and self.index > other.index

    def between(self, other: Statement) -> list[ast.stmt]:
        """The statements from the other one, which comes earlier, up to this one."""
        return self.block[other.index : self.index]


class Script:
    """Python text with its tree. Lines count from 1, columns in bytes of UTF-8, as in `ast`."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.text = text
        self.tree = tree
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]
        self._statements = list(_statements(tree))
        self._by_node = {id(statement.node): statement for statement in self._statements}

    def at(self, line: int, column: int) -> Statement | None:
        """The innermost statement that a place is in; None where that has a body of its own."""
        found = None
        for statement in self._statements:
            node = statement.node
            if (node.lineno, node.col_offset) <= (line, column) < _end(node):
                found = statement  # inner ones come after outer ones
        return None if found is None or hasattr(found.node, "body") else found

    def of(self, node: ast.stmt) -> Statement:
        """The statement that a node of the tree is."""
        return self._by_node[id(node)]

    def within(self, around: ast.AST) -> Iterator[Statement]:
        """The statements of a loop, a function or the module, but for those of functions in it."""
        for statement in self._statements:
            above = statement.parent
            while above and above.scope is statement.scope and above.node is not around:
                above = above.parent
            if statement.scope is around or (above and above.node is around and _is_loop(around)):
                yield statement

    def start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        """The first character of a node."""
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        """The character behind a node."""
        return self._offset(*_end(node))

    def line_of(self, offset: int) -> int:
        """The line that a character is in."""
        return bisect_right(self._starts, offset)

    def line_start(self, line: int) -> int:
        """The first character of a line, or the end of the text."""
        return self._starts[max(line, 1) - 1] if line <= len(self._starts) else len(self.text)

    def line_end(self, line: int) -> str:
        """What ends a line; where nothing does, what ends the one before."""
        ends = _LINE_END.findall(self.text, self.line_start(line - 1), self.line_start(line + 1))
        return ends[-1] if ends else "\n"

    def indent(self, node: ast.stmt) -> str | None:
        """What stands before a statement that has its lines to itself; None where it shares them.

        Two statements on a line, and bodies on the line of their `if`, are left as they are.
        """
        start = self.start(node)
        before = self.text[self.line_start(node.lineno) : start]
        above = self.text[: self.line_start(node.lineno)].rstrip("\r\n")
        alone = before.strip(" \t") == "" and _NOTHING_ELSE.match(self.text, self.end(node))
        return before if alone and not above.endswith("\\") else None

    def _offset(self, line: int, column: int) -> int:
        start = self.line_start(line)
        text = self.text[start : self.line_start(line + 1)]
        return start + len(text.encode("utf-8")[:column].decode("utf-8", "ignore"))


def _is_loop(node: ast.AST) -> bool:
    return isinstance(node, ast.For | ast.AsyncFor | ast.While)


def _end(node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def _statements(tree: ast.Module) -> Iterator[Statement]:
    """All of them, outer ones first. Not by recursion: code may be nested deeper than calls."""
    todo: list[tuple[ast.AST, Statement | None, Scope, Loop | None]] = [(tree, None, tree, None)]
    while todo:
        node, parent, scope, loop = todo.pop()
        for block in _blocks(node):
            for index, child in enumerate(block):
                statement = Statement(child, block, index, parent, scope, loop)
                yield statement
                match child:
                    case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                        todo.append((child, statement, child, None))
                    case ast.For() | ast.AsyncFor() | ast.While():
                        todo.append((child, statement, scope, child))
                    case _:
                        todo.append((child, statement, scope, loop))


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield inner.body
