"""Edits of whole statements: put one in, take one out, move one. None where that is not plain."""

from __future__ import annotations

from gradledger.static.fixing.edits import Edit, Edits
from gradledger.static.fixing.script import Script, Statement


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
    line = script.line_of(script.end(statement.node))
    place, end = script.line_start(line + 1), script.line_end(line)
    new = indent + code
    ended = script.text[:place].endswith(("\r", "\n"))
    return (Edit(place, place, new + end if ended else end + new),)


def without(script: Script, statement: Statement) -> Edits | None:
    """The statement, with the comment on its line, taken out. A block is not left empty."""
    if script.indent(statement.node) is None or len(statement.block) < 2:
        return None
    return (Edit(*_lines(script, statement), ""),)


def moved_before(script: Script, statement: Statement, to: Statement) -> Edits | None:
    """The statement moved, line for line, in front of another one of its block."""
    return _moved(script, statement, to, script.line_start(to.node.lineno))


def moved_after(script: Script, statement: Statement, to: Statement) -> Edits | None:
    """The statement moved behind another one, with the indent that is right there."""
    line = script.line_of(script.end(to.node))
    return _moved(script, statement, to, script.line_start(line + 1))


def _moved(script: Script, statement: Statement, to: Statement, place: int) -> Edits | None:
    removed = without(script, statement)
    old, new = script.indent(statement.node), script.indent(to.node)
    if removed is None or old is None or new is None:
        return None
    if old != new and statement.node.lineno != statement.node.end_lineno:
        return None  # the lines after the first may be aligned, or inside of a text
    start, end = removed[0].start, removed[0].end
    lines = script.text[start:end].strip("\r\n").removeprefix(old)
    line_end = script.line_end(statement.node.lineno)
    ended = not script.text[:place] or script.text[:place].endswith(("\r", "\n"))
    text = new + lines + line_end if ended else line_end + new + lines
    return (Edit(place, place, text), *removed)


def _lines(script: Script, statement: Statement) -> tuple[int, int]:
    """All of the statement's lines; without an end, the end of the line before instead."""
    first = statement.node.lineno
    start = script.line_start(first)
    end = script.line_start(script.line_of(script.end(statement.node)) + 1)
    if script.text[:end].endswith(("\r", "\n")):
        return start, end
    return start - len(script.line_end(first - 1)) if first > 1 else start, end
