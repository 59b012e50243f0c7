"""What the text of a source file tells about the code that runs from it."""

from __future__ import annotations

import ast
import linecache
import re
from functools import cached_property
from types import CodeType

End = tuple[int | None, int | None]
"""Line and column where an expression ends: what it is known by in a code object, too."""

_GRAD = re.compile(r"""\._?grad\b|["']_?grad["']""")
_EXITS = {"exit", "quit", "sys.exit", "os._exit", "os.abort"}
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Source:
    """One file. Where there is no text, or none that is Python, it simply knows nothing.

    `file` is given where the text is found under another name than that of its places.
    """

    def __init__(self, path: str, *, file: str | None = None) -> None:
        self.path = path
        self.lines = linecache.getlines(file or path)
        self.text = "".join(self.lines)

    @property
    def mentions_grad(self) -> bool:
        """Could its code work on gradients by hand?"""
        return bool(_GRAD.search(self.text))

    @cached_property
    def _tree(self) -> ast.Module:
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError):  # a notebook's magics, NUL bytes
            return ast.Module([], [])

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return list(ast.walk(self._tree))

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """Every statement, outer ones first."""
        return [node for node in self._nodes if isinstance(node, ast.stmt)]

    @cached_property
    def calls(self) -> dict[End, ast.Call]:
        """Calls by their end: of `loss\\n.backward()` bytecode names the second line as the start,
        a person the first."""
        found = (node for node in self._nodes if isinstance(node, ast.Call))
        return {(node.end_lineno, node.end_col_offset): node for node in found}

    @cached_property
    def discarded(self) -> frozenset[End]:
        """Ends of the expressions whose value is thrown away."""
        return frozenset(
            (node.value.end_lineno, node.value.end_col_offset)
            for node in self._nodes
            if isinstance(node, ast.Expr)
        )

    @cached_property
    def changed_or_asked(self) -> frozenset[End]:
        """Ends of the expressions that are changed in place, or only asked if they are None."""
        return frozenset(
            (node.end_lineno, node.end_col_offset)
            for parent in self._nodes
            for node in _not_for_their_value(parent)
        )

    def survives_exceptions_round(self, line: int) -> bool:
        """Could code catch an exception that is raised here, or in the same round of a loop?"""
        return any((block.lineno <= line <= (block.end_lineno or 0)) for block in self._surviving)

    @cached_property
    def _surviving(self) -> list[ast.stmt]:
        """The blocks that catch exceptions, and the loops that have one inside."""
        loops = [s for s in self.statements if isinstance(s, _LOOPS)]
        catching = [
            s
            for s in self.statements
            if _catches(s) and (not _ends_at_interrupts(s) or self.loop_round(s.lineno) is not None)
        ]
        return catching + [
            loop
            for loop in loops
            if any(loop.lineno < s.lineno <= (loop.end_lineno or 0) for s in catching)
        ]

    def loop_round(self, line: int) -> ast.stmt | None:
        """The innermost loop that a line is in, of the same function."""
        inner: ast.stmt | None = None
        for statement in self.statements:
            if statement.lineno <= line <= (statement.end_lineno or 0):
                if isinstance(statement, _LOOPS):
                    inner = statement
                elif isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
                    inner = None
        return inner

    def statements_of(self, code: CodeType | None) -> list[ast.stmt]:
        """The statements that this code (None: the module) runs itself, not the functions in it."""
        if code is None or code.co_name == "<module>":
            return _own(self._tree)
        for function in self._nodes:
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                decorated = [*(d.lineno for d in function.decorator_list), function.lineno]
                if function.name == code.co_name and code.co_firstlineno == min(decorated):
                    return _own(function)
        return []

    def methods_of(self, classes: set[str]) -> list[list[ast.stmt]]:
        """The statements of each method of the classes with these names."""
        return [
            _own(method)
            for node in self._nodes
            if isinstance(node, ast.ClassDef) and node.name in classes
            for method in node.body
            if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        ]

    def statement_at(self, line: int) -> ast.stmt | None:
        """The innermost statement at a line; a block only at its header."""
        found = (s for s in self.statements if s.lineno <= line <= _last_line(s))
        return max(found, key=lambda s: s.lineno, default=None)

    def text_at(self, line: int) -> str:
        """The source of that statement."""
        inner = self.statement_at(line)
        return "" if inner is None else "".join(self.lines[inner.lineno - 1 : _last_line(inner)])

    def tries_round(self, line: int) -> list[ast.stmt]:
        """The blocks round a line that may swallow what is raised there."""
        return [
            statement
            for statement in self.statements
            if isinstance(statement, ast.Try | ast.With)
            and statement.body[0].lineno <= line <= (statement.body[-1].end_lineno or 0)
        ]

    def handler_of(self, raised: int, line: int) -> bool:
        """Is this the first line of a handler's body, or behind it, for what was raised there?

        The headers of `with` and `except` are passed, and `finally` runs, before it is caught.
        """
        for statement in self.statements:
            if not statement.lineno <= raised <= (statement.end_lineno or 0):
                continue
            if isinstance(statement, ast.With) and line == statement.lineno:
                return False
            if isinstance(statement, ast.Try):
                final = statement.finalbody
                if any(line == handler.lineno for handler in statement.handlers):
                    return False
                if final and final[0].lineno <= line <= (final[-1].end_lineno or 0):
                    return False
        return True


def _own(block: ast.AST) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for child in ast.iter_child_nodes(block):
        if isinstance(child, ast.stmt):
            found.append(child)
        if not isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
            found += _own(child)
    return found


def _last_line(statement: ast.stmt) -> int:
    """The last line of a simple statement, or of a compound statement's header."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    return body[0].lineno - 1 if body else statement.end_lineno or statement.lineno


def _catches(statement: ast.stmt) -> bool:
    handlers = statement.handlers if isinstance(statement, ast.Try) else []
    return any(map(_goes_on, handlers)) or _suppresses(statement)


def _goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether the program may go on behind what a handler does."""
    leaves = (ast.Continue, ast.Break, ast.Return)
    if any(isinstance(node, leaves) for part in handler.body for node in ast.walk(part)):
        return True
    match handler.body[-1]:
        case ast.Raise():
            return False
        case ast.Expr(ast.Call(func)):
            return ast.unparse(func) not in _EXITS
    return True


def _ends_at_interrupts(statement: ast.stmt) -> bool:
    """Whether it catches nothing but Ctrl-C and exits, as a program does that ends then."""
    handlers = statement.handlers if isinstance(statement, ast.Try) else []
    caught = [ast.unparse(h.type) if h.type is not None else "" for h in handlers]
    return bool(caught) and set(caught) <= {"KeyboardInterrupt", "SystemExit"}


def _suppresses(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and any(
        isinstance(item.context_expr, ast.Call) and "suppress" in ast.unparse(item.context_expr)
        for item in node.items
    )


def _not_for_their_value(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Compare(left, [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
            return [left]
        case ast.AugAssign(target):
            return [target]
        case ast.Call(ast.Attribute(ast.Attribute(value, "data") | value, method)):
            in_place = method.endswith("_") and not method.endswith("__")
            return [value] if in_place else []
    return []
