"""Lines of installed libraries: which of their own lines made a call, and which only pass it on.

`model.learn()` of a library makes many passes in many of its lines: each is a place of its own.
`accelerator.backward(loss)` makes the one pass that the program asks for: its place is the
program's line.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
from itertools import islice
from types import CodeType

from gradledger.ledger.places import Place

_ACTS = ("backward", "zero_grad", "clip", "unscale", "step")
"""What a function is about that has one of these in its name."""
_ITERATION = frozenset({"__iter__", "__next__"})


class LibraryLines:
    """Finds the line of a library that made a call, once for each instruction."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Place | None] = {}
        self._codes: list[CodeType] = []
        """Kept alive, so that no other code is ever taken for one of them."""
        self._led: dict[tuple[int, int], Place] = {}

    def line(self, code: CodeType, instruction: int, line: int) -> Place | None:
        """Where the library makes the call; None where it only passes on what it was asked for."""
        key = id(code), instruction
        try:
            return self._known[key]
        except KeyError:
            found = self._known[key] = _own_line(code, instruction, line)
            self._codes.append(code)
            return found

    def led_to(self, line: Place, way_in: Place) -> Place:
        """The library's line as the program reaches it from here; equal ones are one object."""
        key = id(line), id(way_in)
        found = self._led.get(key)
        if found is None:
            found = self._led[key] = Place(line.path, line.line, line.column, way_in)
        return found


def _own_line(code: CodeType, instruction: int, line: int) -> Place | None:
    if not _is_third_party(code.co_filename) or code.co_name in _ITERATION:
        return None
    first, last, column, end = _position(code, instruction, line)
    lines = [linecache.getline(code.co_filename, n) for n in range(first, last + 1)]
    call = _parsed(lines, column, end)
    if call is not None and _passes_on(code.co_name, call):
        return None
    return Place(code.co_filename, first, column or 0)


def _is_third_party(path: str) -> bool:
    """Whether it is installed, and neither torch's nor Python's nor made up by `exec`."""
    for folder in ("site-packages", "dist-packages"):
        _, found, inner = path.partition(f"{os.sep}{folder}{os.sep}")
        if found:
            return inner.partition(os.sep)[0] not in ("torch", "gradledger")
    return False


def _position(code: CodeType, instruction: int, line: int) -> tuple[int, int, int | None, int]:
    if sys.version_info >= (3, 11):
        found = next(islice(code.co_positions(), instruction // 2, None), None)
        if found is not None and None not in found:
            first, last, column, end = found
            return first or line, last or line, column, end or 0
    return line, line, None, 0


def _parsed(lines: list[str], column: int | None, end: int) -> ast.Call | None:
    """The call at a position; where there is none, that of the whole line."""
    if not lines:
        return None
    if column is None:
        text = lines[0].strip()
    else:
        # Columns are of UTF-8.
        data = [line.encode() for line in lines]
        data[-1] = data[-1][:end]
        data[0] = data[0][column:]
        text = b"".join(data).decode(errors="replace")
    try:
        node = ast.parse(f"({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    return node if isinstance(node, ast.Call) else None


def _passes_on(function: str, call: ast.Call) -> bool:
    """Whether a function does nothing of its own with a call: `backward` that calls `backward`, or
    a wrapper that gives all its arguments to another function."""
    match call.func:
        case ast.Attribute(attr=called) | ast.Name(id=called):
            acts = {act for act in _ACTS if act in called}
            if acts and acts & {act for act in _ACTS if act in function}:
                return True
        case _:
            pass
    given = [isinstance(argument, ast.Starred) for argument in call.args]
    given += [keyword.arg is None for keyword in call.keywords]
    return bool(given) and all(given)
