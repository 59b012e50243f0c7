"""The cure of a graph that lives too long."""

from __future__ import annotations

from gradledger.static.fix.calls import calls, method, plain
from gradledger.static.fix.edits import Edit, Edits
from gradledger.static.fix.fault import Fault
from gradledger.static.fix.script import Statement
from gradledger.static.source import syntax as ast


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


def _is_a_loss(value: ast.expr, keeping: Statement) -> bool:
    """Is it walked backward nearby?"""
    around = keeping.loop or keeping.scope
    name = plain(value)
    return name is not None and any(
        plain(call.func) == f"{name}.backward"
        or (method(call) in ("scale", "backward") and [plain(a) for a in call.args[:1]] == [name])
        for call in calls(around)
    )


def _walked(kept: ast.expr, keeping: Statement) -> bool:
    """Is the sum itself walked backward somewhere? Then its graph is what is wanted."""
    name = plain(kept.value if isinstance(kept, ast.Subscript) else kept)
    return name is None or any(
        "backward" in method(call) or method(call) in ("scale", "grad")
        for call in calls(keeping.scope)
        if name in {plain(node) for node in ast.walk(call)}
    )
