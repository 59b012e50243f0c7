"""Cures of calls that a GradScaler misses, or gets once too often."""

from __future__ import annotations

from gradledger.static.fix.calls import (
    calls,
    calls_method,
    only_call,
    plain,
    rebound,
    spend,
    spends_of,
)
from gradledger.static.fix.edits import Edits
from gradledger.static.fix.fault import Fault
from gradledger.static.fix.script import Script, Statement
from gradledger.static.fix.statements import after, before, without
from gradledger.static.source import syntax as ast


def unscale_first(fault: Fault) -> Edits | None:
    """GL401: `unscale_` in front of the clip, for the one optimizer that the scaler steps here."""
    clip = fault.statement
    if clip is None or calls_method(clip.scope, "unscale_"):
        return None
    stepped = {
        found
        for statement in fault.script.within(clip.scope)
        if not hasattr(statement.node, "body")
        for found in spends_of(statement)
        if found.scaler
    }
    on_the_way = _until_the_step(fault.script, clip)
    if len(stepped) != 1 or not on_the_way:
        return None
    ((optimizer, scaler),) = stepped
    if rebound(optimizer, on_the_way) or rebound(scaler or "", on_the_way):
        return None
    deposits = [d for d in fault.evidence("deposited") if d.scope is clip.scope]
    if not {_scaler_of(deposit) for deposit in deposits} <= {scaler}:
        return None
    return before(fault.script, clip, f"{scaler}.unscale_({optimizer})")


def update_after_the_step(fault: Fault) -> Edits | None:
    """GL403: `scaler.update()` behind the last step of the scaler in this block."""
    step = fault.statement
    found = spend(only_call(step))
    if step is None or found is None or found.scaler is None:
        return None
    if any(plain(call.func) == f"{found.scaler}.update" for call in calls(step.scope)):
        return None
    steps = _steps(fault.script, step.scope, found.scaler)
    if not all(s.block is step.block for s in steps):
        return None
    last = max(steps, key=lambda s: s.index)
    return after(fault.script, last, f"{found.scaler}.update()")


def unscale_once(fault: Fault) -> Edits | None:
    """GL405: the second `unscale_` taken out, where no backward is between it and the first."""
    second, firsts = fault.statement, fault.evidence("unscaled")
    call = only_call(second)
    if second is None or call is None or len(firsts) != 1:
        return None
    first = firsts[0]
    if not _same_call(call, only_call(first)) or not second.follows(first):
        return None
    if any(calls_method(node, "backward") for node in second.between(first)):
        return None
    return without(fault.script, second)


def _same_call(one: ast.Call, other: ast.Call | None) -> bool:
    return other is not None and ast.dump(one) == ast.dump(other) and plain(one.func) is not None


def _until_the_step(script: Script, statement: Statement) -> list[ast.stmt]:
    """The statements up to the next step of a scaler, in the same block or in one around it."""
    above: Statement | None = statement
    while above is not None and above.scope is statement.scope:
        for index in range(above.index + 1, len(above.block)):
            found = spend(only_call(script.of(above.block[index])))
            if found is not None and found.scaler:
                return above.block[above.index : index]
        # Behind a loop over parameters comes another turn of it, with nothing left to unscale.
        above = None if above.loop is not (above.parent and above.parent.loop) else above.parent
    return []


def _steps(script: Script, around: ast.AST, scaler: str) -> list[Statement]:
    """The statements that step something through that scaler."""
    return [
        statement
        for statement in script.within(around)
        if not hasattr(statement.node, "body")
        and any(found.scaler == scaler for found in spends_of(statement))
    ]


def _scaler_of(deposit: Statement) -> str | None:
    """The scaler of `scaler.scale(loss).backward()`."""
    match only_call(deposit):
        case ast.Call(
            func=ast.Attribute(
                value=ast.Call(func=ast.Attribute(value=scaler, attr="scale")), attr="backward"
            )
        ):
            return plain(scaler)
    return None
