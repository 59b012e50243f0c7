"""Cures of calls that a GradScaler misses, or gets once too often."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradledger.static.fixing.calls import (
    Spend,
    calls,
    calls_method,
    only_call,
    plain,
    rebound,
    spend,
    spends_of,
)
from gradledger.static.fixing.edits import Edit, Edits
from gradledger.static.fixing.fault import Fault
from gradledger.static.fixing.script import Script, Statement
from gradledger.static.fixing.surgery import after, before, without


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
    later = _later_step(fault.script, clip)
    if len(stepped) != 1 or later is None or spend(only_call(later)) not in stepped:
        return None
    ((optimizer, scaler),) = stepped
    if rebound(optimizer, [clip.loop or clip.scope]):
        return None
    scaled_by = {_scaler_of(deposit) for deposit in fault.evidence("deposited")}
    here = {s.scope for s in fault.evidence("deposited")} <= {clip.scope}
    if here and scaled_by != {scaler}:
        return None
    return before(fault.script, clip, f"{scaler}.unscale_({optimizer})")


def step_through_the_scaler(fault: Fault) -> Edits | None:
    """GL402: `scaler.step(optimizer)` for `optimizer.step()`, and an update where there is none."""
    step, deposits = fault.statement, fault.evidence("deposited")
    spent = spend(only_call(step))
    if step is None or spent is None or spent.scaler or step.loop is None:
        return None
    scalers = {_scaler_of(deposit) for deposit in deposits}
    scaler = scalers.pop() if len(scalers) == 1 else None
    if scaler is None or not all(d.loop is step.loop for d in deposits):
        return None
    if _steps(fault.script, step.scope, scaler) or calls_method(step.scope, "unscale_"):
        return None
    if not fault.alone_in(step.loop) or fault.script.indent(step.node) is None:
        return None  # of several optimizers, all are stepped before the update
    assert isinstance(step.node, ast.Expr)
    start, end = fault.script.start(step.node.value), fault.script.end(step.node.value)
    changed = Edit(start, end, f"{scaler}.step({spent.optimizer})")
    updates = [c for c in calls(step.scope) if plain(c.func) == f"{scaler}.update"]
    if updates:
        later = (fault.script.of(node) for node in step.block[step.index + 1 :])
        return (changed,) if any(only_call(s) in updates for s in later) else None
    added = after(fault.script, step, f"{scaler}.update()")
    return (changed, *added) if added else None


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


def _later_step(script: Script, statement: Statement) -> Statement | None:
    """The next step of a scaler in the statement's block, or in a block around it."""
    above: Statement | None = statement
    while above is not None and above.scope is statement.scope:
        for node in above.block[above.index + 1 :]:
            found = spend(only_call(script.of(node)))
            if found is not None and found.scaler:
                return script.of(node)
        if isinstance(above.parent and above.parent.node, ast.For | ast.AsyncFor | ast.While):
            return None
        above = above.parent
    return None


def _steps(script: Script, around: ast.AST, scaler: str) -> list[Statement]:
    """The statements that step something through that scaler."""
    return list(_stepping(script, around, scaler))


def _stepping(script: Script, around: ast.AST, scaler: str) -> Iterator[Statement]:
    for statement in script.within(around):
        found: list[Spend] = [] if hasattr(statement.node, "body") else spends_of(statement)
        if any(one.scaler == scaler for one in found):
            yield statement


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
