"""Cures of calls in the wrong order: one statement moves past another one of its block."""

from __future__ import annotations

from gradledger.static.fix.calls import calls, method, only_call, plain, spend
from gradledger.static.fix.clears import end_of_step
from gradledger.static.fix.edits import Edits
from gradledger.static.fix.fault import Fault
from gradledger.static.fix.script import Statement
from gradledger.static.fix.statements import moved_after, moved_before
from gradledger.static.source import syntax as ast


def clip_before_the_step(fault: Fault) -> Edits | None:
    """GL501: the clip moves in front of the step that it came too late for."""
    clip, steps = fault.statement, fault.evidence("spent")
    if clip is None or len(steps) != 1 or not clip.follows(steps[0]):
        return None
    step = steps[0]
    if spend(only_call(step)) is None or not isinstance(clip.node, ast.Expr | ast.Assign):
        return None
    clips = {method(call) for call in calls(clip.node) if "clip" in method(call)}
    others = [call for call in calls(clip.loop or clip.scope) if method(call) in clips]
    if len(others) != 1 or _depend(clip, step):
        return None
    return moved_before(fault.script, clip, step)


def schedule_after_the_step(fault: Fault) -> Edits | None:
    """GL503: the scheduler's step moves behind the one other step of its block."""
    moves = fault.statement
    found = spend(only_call(moves))
    if moves is None or found is None or found.scaler:
        return None
    block = [fault.script.of(node) for node in moves.block]
    steps = [s for s in block if s is not moves and spend(only_call(s)) is not None]
    if len(steps) != 1 or not steps[0].follows(moves):
        return None
    step = end_of_step(fault.script, steps[0])
    between = [n for n in step.between(moves)[1:] if plain_names(n) & {found.optimizer}]
    return None if between else moved_after(fault.script, moves, step)


def _depend(late: Statement, early: Statement) -> bool:
    """Does a statement that it passes assign a name that it uses, or use one that it assigns?"""
    passed = late.between(early)
    mine = _names(late.node)
    return any(
        (stored and name in mine) or mine.get(name, False)
        for node in passed
        for name, stored in _names(node).items()
    )


def _names(node: ast.AST) -> dict[str, bool]:
    """The names in a piece of code, and whether it assigns to them."""
    names: dict[str, bool] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            names[inner.id] = names.get(inner.id, False) or not isinstance(inner.ctx, ast.Load)
    return names


def plain_names(node: ast.AST) -> set[str]:
    """All plain names and attributes in a piece of code."""
    return {name for inner in ast.walk(node) if (name := plain(inner)) is not None}
