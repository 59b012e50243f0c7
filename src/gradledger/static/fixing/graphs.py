"""Cures of graphs that live too long: one argument, or one `detach()`."""

from __future__ import annotations

import ast
import re

from gradledger.static.fixing.calls import calls, method, plain
from gradledger.static.fixing.edits import Edit, Edits
from gradledger.static.fixing.fault import Fault
from gradledger.static.fixing.freshness import made_anew
from gradledger.static.fixing.script import Script, Statement

_COMMA = re.compile(r"\s*,\s*")


def keep_the_number(fault: Fault) -> Edits | None:
    """GL701: `loss.detach()` for `loss`, where that is the plain name of what is walked backward.

    What else a model gives may be a tuple, a dict or a number, and these can't be detached.
    """
    keeping = fault.statement
    if keeping is None:
        return None
    match keeping.node:
        case ast.AugAssign(target=kept, op=ast.Add(), value=value):
            pass
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=kept, attr="append"), args=[value], keywords=[])
        ):
            pass
        case _:
            return None
    if not _is_a_loss(value, keeping) or _walked(kept, keeping):
        return None
    place = fault.script.end(value)
    return (Edit(place, place, ".detach()"),)


def retain_nothing(fault: Fault) -> Edits | None:
    """GL703: `retain_graph=True` taken out of the call, where the whole graph is of this turn."""
    if fault.statement is None or not made_anew(fault.script, fault.statement):
        return None
    at = fault.finding.at
    found = [
        (call, keyword)
        for call in calls(fault.statement.node)
        if (call.lineno, call.col_offset) == (at.line, at.column)
        for keyword in call.keywords
        if keyword.arg == "retain_graph"
    ]
    if len(found) != 1:
        return None
    call, keyword = found[0]
    literal = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
    # With create_graph the graph is kept anyway: the author is about second derivatives.
    others = {other.arg for other in call.keywords}
    return _without_argument(fault.script, call, keyword) if literal and len(others) < 2 else None


def _is_a_loss(value: ast.expr, keeping: Statement) -> bool:
    """Is it walked backward nearby, or asked for its number?"""
    around = keeping.loop or keeping.scope
    name = plain(value)
    return name is not None and any(
        plain(call.func) in (f"{name}.backward", f"{name}.item")
        or (method(call) in ("scale", "backward") and [plain(a) for a in call.args[:1]] == [name])
        for call in calls(around)
    )


def _walked(total: ast.expr, keeping: Statement) -> bool:
    """Is the sum itself walked backward somewhere? Then its graph is what is wanted."""
    name = plain(total)
    base = total.value if isinstance(total, ast.Subscript) else total
    for call in calls(keeping.scope):
        if "backward" in method(call) or method(call) in ("scale", "grad"):
            inside = {plain(node) for node in ast.walk(call)}
            if name in inside or plain(base) in inside:
                return True
    return False


def _without_argument(script: Script, call: ast.Call, argument: ast.keyword) -> Edits | None:
    """The call without one of its arguments. Comments between them are not ours to place."""
    arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    given = sorted(arguments, key=script.start)
    index = given.index(argument)
    start, end = script.start(argument), script.end(argument)
    if index:
        start = script.end(given[index - 1])
        return (Edit(start, end, ""),) if _is_comma(script, start, script.start(argument)) else None
    if len(given) > 1:
        behind = script.start(given[1])
        return (Edit(start, behind, ""),) if _is_comma(script, end, behind) else None
    close = script.end(call) - 1
    comma = script.text[end:close].rstrip()
    return (Edit(start, end + len(comma), ""),) if comma in ("", ",") else None


def _is_comma(script: Script, start: int, end: int) -> bool:
    return _COMMA.fullmatch(script.text, start, end) is not None
