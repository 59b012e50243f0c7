"""Cures of clears that are missing, or in the wrong place."""

from __future__ import annotations

from gradledger.static.fix.calls import (
    calls,
    calls_method,
    mentions,
    method,
    only_call,
    plain,
    rebound,
    spend,
    spends_of,
)
from gradledger.static.fix.edits import Edits
from gradledger.static.fix.fault import Fault
from gradledger.static.fix.script import Script, Statement
from gradledger.static.fix.statements import after, before, moved_after, moved_before
from gradledger.static.source import syntax as ast


def clear_the_spent(fault: Fault) -> Edits | None:
    """GL101, in a loop that never clears: before its first backward, else after its step.

    Before the backward is where a reader of the gradients still finds them after the step. Where
    the step has its own condition, the backward is run more often than the window is cleared.
    """
    step, deposits = fault.statement, fault.evidence("deposited")
    spent = spend(only_call(step))
    if step is None or spent is None or not deposits or step.loop is None:
        return None
    inside = {id(statement) for statement in fault.script.within(step.loop)}
    if not all(id(deposit) in inside for deposit in deposits):
        return None
    if calls_method(step.loop, "zero_grad") or mentions(step.loop, "grad"):
        return None
    clear = f"{spent.optimizer}.zero_grad()"
    if all(step.follows(deposit) for deposit in deposits):
        first = min(deposits, key=lambda deposit: deposit.index)
        if rebound(spent.optimizer, step.between(first)):
            return None
        return before(fault.script, first, clear)
    return after(fault.script, end_of_step(fault.script, step), clear)


def move_the_clear(fault: Fault) -> Edits | None:
    """GL201: between backward and step, to before the first; in each micro-batch, to the step."""
    clear, deposits = fault.statement, fault.evidence("deposited")
    call = only_call(clear)
    if clear is None or call is None or not deposits or method(call) != "zero_grad":
        return None
    cleared = plain(call.func)
    if cleared is None or not all(d.block is clear.block for d in deposits):
        return None
    optimizer = cleared.removesuffix(".zero_grad")
    first = min(deposits, key=lambda deposit: deposit.index)
    step = _only_step(fault, clear, optimizer)
    if step is None:
        return None
    if step.block is clear.block:
        in_between = all(clear.follows(d) for d in deposits) and step.follows(clear)
        if not in_between or rebound(optimizer, clear.between(first)):
            return None
        return moved_before(fault.script, clear, first)
    if _closes_a_window(fault.script, step, first) and first.follows(clear):
        return moved_after(fault.script, clear, end_of_step(fault.script, step))
    return None


def end_of_step(script: Script, step: Statement) -> Statement:
    """The step, or the `scaler.update()` right behind it."""
    found = spends_of(step)
    if found and found[0].scaler and step.index + 1 < len(step.block):
        following = script.of(step.block[step.index + 1])
        call = only_call(following)
        if call is not None and plain(call.func) == f"{found[0].scaler}.update":
            return following
    return step


def _only_step(fault: Fault, clear: Statement, optimizer: str) -> Statement | None:
    """The one step of that optimizer in the loop of its clear, or in its function."""
    around = clear.loop or clear.scope
    steps = [
        statement
        for statement in fault.script.within(around)
        if not hasattr(statement.node, "body")
        and any(found.optimizer == optimizer for found in spends_of(statement))
    ]
    clears = [call for call in calls(around) if method(call) == "zero_grad"]
    return steps[0] if len(steps) == len(clears) == 1 else None


def _closes_a_window(script: Script, step: Statement, deposit: Statement) -> bool:
    """`if (i + 1) % n == 0:`, with the step in it, behind the deposit."""
    parent = step.parent
    return (
        parent is not None
        and isinstance(parent.node, ast.If)
        and step.block is parent.node.body
        and not parent.node.orelse
        and parent.follows(deposit)
        and any(isinstance(node, ast.Mod) for node in ast.walk(parent.node.test))
    )
