"""Which line of the script is at work: the first line of the call, as a finding would name it."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from gradledger.ledger.places import Place

Positions = tuple[int | None, int | None, int | None, int | None]
"""Where an instruction's source starts and ends: line, end line, column, end column."""


class Script:
    """The observed program's source, and how to find one's place in it."""

    def __init__(self, path: str) -> None:
        self.path = path
        text = Path(path).read_text(encoding="utf-8")
        self.lines = text.splitlines()
        nodes = list(ast.walk(ast.parse(text)))
        self._statements = [node for node in nodes if isinstance(node, ast.stmt)]
        # A call is known by where it ends: of `loss\n.backward()` the bytecode names the second
        # line as the start, a person the first.
        self._calls = {
            (node.end_lineno, node.end_col_offset): node.lineno
            for node in nodes
            if isinstance(node, ast.Call)
        }
        self._changed_or_asked = {
            (node.end_lineno, node.end_col_offset)
            for parent in nodes
            for node in _not_for_their_value(parent)
        }
        self._discarded = {
            (node.value.end_lineno, node.value.end_col_offset)
            for node in nodes
            if isinstance(node, ast.Expr)
        }
        self._innermost_at: dict[int, ast.stmt | None] = {}
        self._positions: dict[CodeType, list[Positions]] = {}

    def has(self, frame: FrameType) -> bool:
        """Is this frame running the script's own code?"""
        return frame.f_code.co_filename == self.path

    def here(self, *, outside: object = None) -> Place | None:
        """The call in the innermost frame of the script, if a frame of it is running.

        Frames of `outside.__init__` are passed over: an object is made where its class is called.
        """
        frame = self._running(outside)
        return None if frame is None else self.in_frame(frame)

    def in_frame(self, frame: FrameType) -> Place:
        """The call that this frame of the script is in."""
        return self._at(frame.f_code, frame.f_lasti, frame.f_lineno)

    def in_traceback(self, traceback: TracebackType | None) -> Place | None:
        """The innermost call of the script that an exception came through."""
        place = None
        while traceback is not None:
            if self.has(traceback.tb_frame):
                code = traceback.tb_frame.f_code
                place = self._at(code, traceback.tb_lasti, traceback.tb_lineno)
            traceback = traceback.tb_next
        return place

    def statement_at(self, line: int) -> Place:
        """The first line of the statement that this line belongs to."""
        inner = self._innermost(line)
        return Place(self.path, inner.lineno if inner else line)

    def text(self, place: Place) -> str:
        """The source of the innermost statement at a place, its header if it is a block."""
        inner = self._innermost(place.line)
        return "\n".join(self.lines[inner.lineno - 1 : _last_line(inner)]) if inner else ""

    def uses_value(self, frame: FrameType) -> bool:
        """Does the script do something with the attribute that it is loading?

        It does not where it asks only whether that is None, or calls a method that changes it.
        """
        return self._end(frame) not in self._changed_or_asked

    def uses_result(self) -> bool:
        """Does the script do something with what its running call will give back?"""
        frame = self._running()
        return frame is not None and self._end(frame) not in self._discarded

    def on_the_way_out(self, raised: int, line: int) -> bool:
        """Could this line run while an exception raised at another is still looking for a handler?

        The headers of `with` and `except` are passed, and `finally` runs, before it is caught.
        """
        for statement in self._statements:
            if not statement.lineno <= raised <= (statement.end_lineno or 0):
                continue
            if isinstance(statement, ast.With) and line == statement.lineno:
                return True
            if isinstance(statement, ast.Try):
                final = statement.finalbody
                if any(line == handler.lineno for handler in statement.handlers):
                    return True
                if final and final[0].lineno <= line <= (final[-1].end_lineno or 0):
                    return True
        return False

    def _running(self, outside: object = None) -> FrameType | None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and (not self.has(frame) or _initialises(frame, outside)):
            frame = frame.f_back
        return frame

    def _end(self, frame: FrameType) -> tuple[int | None, int | None] | None:
        """Where the expression ends that a frame is at; None where Python does not tell."""
        if sys.version_info >= (3, 11):
            _, end, _, end_column = self._position(frame.f_code, frame.f_lasti)
            return end, end_column
        return None

    def _innermost(self, line: int) -> ast.stmt | None:
        if line not in self._innermost_at:
            found = (s for s in self._statements if s.lineno <= line <= _last_line(s))
            self._innermost_at[line] = max(found, key=lambda s: s.lineno, default=None)
        return self._innermost_at[line]

    def _at(self, code: CodeType, instruction: int, line: int) -> Place:
        if sys.version_info >= (3, 11):
            start, end, _, end_column = self._position(code, instruction)
            line = start or line
            # A loop ends where the last call in its body ends, and starts before it.
            line = min(line, self._calls.get((end, end_column), line))
        return Place(self.path, line)

    def _position(self, code: CodeType, instruction: int) -> Positions:
        if sys.version_info >= (3, 11):
            if code not in self._positions:
                self._positions[code] = list(code.co_positions())
            return self._positions[code][instruction // 2]
        raise RuntimeError(
            "the observer needs Python 3.11: before, code does not say where calls begin"
        )


def _last_line(statement: ast.stmt) -> int:
    """The last line of a simple statement, or of a compound statement's header."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    return body[0].lineno - 1 if body else statement.end_lineno or statement.lineno


def _not_for_their_value(node: ast.AST) -> list[ast.expr]:
    """The expressions in a node that it changes in place, or asks whether they are None."""
    match node:
        case ast.Compare(left, [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
            return [left]
        case ast.AugAssign(target):
            return [target]
        case ast.Call(ast.Attribute(ast.Attribute(value, "data") | value, method)):
            in_place = method.endswith("_") and not method.endswith("__")
            return [value] if in_place else []
    return []


def _initialises(frame: FrameType, owner: object) -> bool:
    return (
        owner is not None
        and frame.f_code.co_name == "__init__"
        and any(value is owner for value in frame.f_locals.values())
    )
