"""Edits of whole statements: put one in, take one out, move one. None where that is not plain."""

from __future__ import annotations

from collections.abc import Callable

from gradledger.static.fix.edits import Edit, Edits
from gradledger.static.fix.script import Script, Statement


def before(script: Script, statement: Statement, code: str) -> Edits | None:
    """A line of code in front of a statement, with its indent."""
    indent = script.indent(statement.node)
    if indent is None:
        return None
    line = statement.node.lineno
    place = script.line_start(line)
    return (Edit(place, place, indent + code + script.line_end(line)),)


def after(script: Script, statement: Statement, code: str) -> Edits | None:
    """A line of code behind a statement, with its indent."""
    indent = script.indent(statement.node)
    if indent is None:
        return None
    place, line_end = _behind(script, statement)
    return (Edit(place, place, line_end + indent + code),)


def without(script: Script, statement: Statement) -> Edits | None:
    """The statement, with the comment on its line, taken out. A block is not left empty."""
    if script.indent(statement.node) is None or len(statement.block) < 2:
        return None
    return (Edit(*_lines(script, statement), ""),)


def moved_before(script: Script, statement: Statement, to: Statement) -> Edits | None:
    """The statement moved in front of another one, with the comment on its line."""
    return _moved(script, statement, to, before)


def moved_after(script: Script, statement: Statement, to: Statement) -> Edits | None:
    """The same, behind another one."""
    return _moved(script, statement, to, after)


def _moved(
    script: Script,
    statement: Statement,
    to: Statement,
    put: Callable[[Script, Statement, str], Edits | None],
) -> Edits | None:
    code = _taken(script, statement, to)
    added = None if code is None else put(script, to, code)
    removed = without(script, statement)
    return (*added, *removed) if added and removed else None


def _taken(script: Script, statement: Statement, to: Statement) -> str | None:
    """The statement's own lines, without the first indent and the last line end."""
    indent = script.indent(statement.node)
    if indent is None:
        return None
    if indent != script.indent(to.node) and statement.node.lineno != statement.node.end_lineno:
        return None  # the lines after the first may be aligned, or inside of a text
    return script.text[script.start(statement.node) : _behind(script, statement)[0]]


def _behind(script: Script, statement: Statement) -> tuple[int, str]:
    """Where the statement's last line ends, and how."""
    line = script.line_of(script.end(statement.node))
    text = script.text[: script.line_start(line + 1)]
    return len(text.removesuffix("\n").removesuffix("\r")), script.line_end(line)


def _lines(script: Script, statement: Statement) -> tuple[int, int]:
    """All of the statement's lines; without an end, the end of the line before instead."""
    first = statement.node.lineno
    start = script.line_start(first)
    end = script.line_start(script.line_of(script.end(statement.node)) + 1)
    if script.text[:end].endswith(("\r", "\n")):
        return start, end
    return start - len(script.line_end(first - 1)) if first > 1 else start, end
