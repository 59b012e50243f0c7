"""Branches and exits: the ways through a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce

from gradledger.ledger.events import Schedule
from gradledger.ledger.values import replace
from gradledger.static.domain.join import join
from gradledger.static.domain.values import NONE, Count, FunctionDef, Scaler, Thing
from gradledger.static.ir.blocks import acts, branch, events_in, holds, sequence, without
from gradledger.static.ir.effects import Clears, Effect, Excuses, Spends, Unscales
from gradledger.static.ir.keys import Keys
from gradledger.static.ir.notes import ClearBehindFlag, ScheduleWaits, UnscalesIfEnabled
from gradledger.static.ir.program import Leave, Program
from gradledger.static.lower.branch_tests import (
    CLEARS,
    asks_for_a_flag,
    asks_for_a_rest,
    asks_when,
    bounded_above,
    follows_windows,
    looks_at_a_loss,
)
from gradledger.static.lower.call_graph import called_in, spends
from gradledger.static.lower.condition_keys import Ask, Both, Condition, counts_rounds
from gradledger.static.lower.conditions import condition
from gradledger.static.lower.expressions import source_of
from gradledger.static.lower.noting import note, note_effects
from gradledger.static.lower.quiet_values import eval_quietly
from gradledger.static.lower.scaled_where import both_ways
from gradledger.static.lower.spelling import called_name
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import DOES, STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

GUARD = Pattern(
    r"(?i)isfinite|isnan|isinf|nan\b|\binf\b|norm|overflow|skip|bad|invalid|anomal|outlier|explod|thresh|valid"
)

LEAVING = (ast.Continue, ast.Return, ast.Break, ast.Raise)


def run_if(machine: Machine, node: ast.If) -> None:
    """`if`."""
    if _skips_a_beginning(machine, node):
        return
    before = len(machine.out)
    _run_ways(machine, node)
    if asks_for_a_flag(machine, node):
        # Flags that go from round to round are not followed.
        note_effects(machine, ClearBehindFlag, _written(machine, Clears, before), node)


def _run_ways(machine: Machine, node: ast.If) -> None:
    asked = condition(machine, node.test)
    if isinstance(asked, bool):
        machine.run(node.body if asked else node.orelse)
        return
    if machine.context.in_parameters and not machine.context.partly:
        # What is done to some of the parameters is not done to all.
        with machine.within(partly=True):
            _write_branch(machine, node, asked)
        return
    _write_branch(machine, node, asked)


def _written(machine: Machine, kind: type[Effect], since: int) -> list[Effect]:
    """The effects of this kind that were written since then."""
    return [e for p in machine.out[since:] for e in events_in(p) if isinstance(e, kind)]


def _skips_a_beginning(machine: Machine, node: ast.If) -> bool:
    """`if done < start: continue` ahead of all else: as if these rounds were not there."""
    if node.orelse or not isinstance(node.body[-1], ast.Continue):
        return False
    if any(map(acts, machine.out)) or machine.context.scope.module.says(DOES, node):
        return False
    tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    return any(isinstance(machine.eval(low), Count) for low in map(bounded_above, tests) if low)


def _write_branch(machine: Machine, node: ast.If, asked: Condition) -> None:
    spelled = source_of(machine, node.test)
    guard = bool(GUARD.search(spelled))
    flush = not counts_rounds(asked) and (
        asks_for_a_rest(machine, node.test, spelled) or follows_windows(machine, node)
    )
    if _asks_anew(machine, asked) and not node.orelse and _unscales_if_enabled(machine, node):
        before = len(machine.out)
        machine.run(node.body)
        # Where there is no scale, nothing is unscaled.
        note_effects(machine, UnscalesIfEnabled, _written(machine, Unscales, before), node)
        return
    goes_on = not node.orelse and not isinstance(node.body[-1], LEAVING)
    means_to_step = goes_on and makes_a_step(machine, node)
    if means_to_step and (flush or (guard and not _ends_unscaling(machine, node))):
        # Who looks whether a gradient is finite, or whether a window is left, means to step.
        machine.run(node.body)
        return

    def body(statements: list[ast.stmt]) -> Callable[[], None]:
        def write() -> None:
            if _gives_up(machine, statements, node.test, guard, asked):
                excuse_drops(machine, node)
            machine.run(statements)

        return write

    then, orelse, frozen = both_ways(machine, node, asked, body(node.body), body(node.orelse))
    note_frozen(machine, asked, frozen)
    if guard and holds(then, Spends) != holds(orelse, Spends):
        # No step behind a guard: what is dropped later on is dropped for a reason.
        excuse = machine.block(lambda: excuse_drops(machine, node))
        if holds(then, Spends):
            orelse = sequence([excuse, orelse])
        else:
            then = sequence([excuse, then])
    then, orelse = _without_strange_schedules(then, orelse)
    if asks_when(node.test) or isinstance(eval_quietly(machine, node.test), Count):
        for way in (then, orelse):
            if not holds(way, Spends):
                for event in events_in(way):
                    if isinstance(event, Schedule):
                        note(machine, ScheduleWaits, event.at)
    machine.out.append(chosen(asked, then, orelse))


def _ends_unscaling(machine: Machine, node: ast.If) -> bool:
    """Is the `update` in here that an `unscale_` before it needs, whatever is stepped?"""
    pending = {e.scaler for e in _written(machine, Unscales, 0) if isinstance(e, Unscales)}
    called = (inner.func for inner in ast.walk(node) if pending and isinstance(inner, ast.Call))
    updated = (f.value for f in called if isinstance(f, ast.Attribute) and f.attr == "update")
    scalers = (eval_quietly(machine, owner) for owner in updated)
    return any(isinstance(scaler, Scaler) and scaler.name in pending for scaler in scalers)


def note_frozen(machine: Machine, asked: Condition, frozen: tuple[Keys, Keys]) -> None:
    """What one answer has frozen stays so wherever the same is asked again."""
    if counts_rounds(asked):
        half_frozen = machine.flow.half_frozen.union(*frozen)
        machine.flow = replace(machine.flow, half_frozen=half_frozen)
    elif isinstance(asked, Ask) and asked.name:
        for keys, way in zip(frozen, (asked.positive, not asked.positive), strict=True):
            noted = machine.flow.frozen_if | {(key, asked.name, way) for key in keys}
            machine.flow = replace(machine.flow, frozen_if=noted)


def _asks_anew(machine: Machine, asked: Condition) -> bool:
    """Has nothing so far depended on the same question?"""
    if not isinstance(asked, Ask) or not asked.name:
        return not counts_rounds(asked)
    anew = asked.name not in machine.log.questions
    machine.log.questions.add(asked.name)
    return anew and not counts_rounds(asked)


def _unscales_if_enabled(machine: Machine, node: ast.If) -> bool:
    """`if amp: scaler.unscale_(optimizer)`: otherwise, there is no scale."""
    for statement in node.body:
        match statement:
            case ast.Expr(ast.Call(func=ast.Attribute(value=owner, attr="unscale_"))):
                scaler = eval_quietly(machine, owner)
                option = isinstance(scaler, Scaler) and scaler.is_option
                return option and not makes_a_step(machine, node)
    return False


def makes_a_step(machine: Machine, node: ast.If) -> bool:
    """Does it make a step, by itself or by what it calls?"""
    scope = machine.context.scope
    if STEPS.search(scope.module.text(node)):
        return True
    cls = scope.self_value.cls if isinstance(scope.self_value, Thing) else None
    classes = () if cls is None else (cls,)
    if any(map(partial(spends, machine), called_in(machine, scope.module, node.body, classes))):
        return True
    called = (inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call))
    local = (eval_quietly(machine, f) for f in called if isinstance(f, ast.Name))
    return any(isinstance(f, FunctionDef) and spends(machine, f) for f in local)


def _gives_up(
    machine: Machine, statements: list[ast.stmt], test: ast.expr, guard: bool, asked: Condition
) -> bool:
    """Does this branch drop gradients, and leave it at that?"""
    leaves = bool(statements) and isinstance(statements[-1], LEAVING)
    outlier = guard or (leaves and not counts_rounds(asked) and looks_at_a_loss(machine, test))
    if leaves and outlier:
        return True
    drops = any(CLEARS.search(machine.context.scope.module.text(s)) for s in statements)
    return drops and (guard or leaves)


def excuse_drops(machine: Machine, node: ast.AST) -> None:
    """Behind a guard, or where an iteration is given up, to drop gradients is on purpose."""
    machine.emit(Excuses(machine.at(node)))


def run_match(machine: Machine, node: ast.Match) -> None:
    """`match`: one of the cases."""
    machine.eval(node.subject)

    def rest(cases: list[ast.match_case]) -> None:
        if not cases:
            return
        then, orelse, _ = machine.both(lambda: machine.run(cases[0].body), lambda: rest(cases[1:]))
        machine.out.append(branch(then, orelse, None))

    rest(node.cases)


def run_return(machine: Machine, node: ast.Return) -> None:
    """`return`."""
    ways = [machine.eval(way) for way in _ways_to_return(machine, node.value)] or [NONE]
    machine.libraries.returned(machine, reduce(join, ways), node)
    machine.context.scope.returned += ways
    machine.out.append(Leave("return"))


def _ways_to_return(machine: Machine, value: ast.expr | None) -> Iterator[ast.expr]:
    """`return out if y is None else (loss, out)`: one thing, or several."""
    match value:
        case ast.IfExp(test, one, other) if isinstance(one, ast.Tuple) is not isinstance(
            other, ast.Tuple
        ):
            asked = machine.condition(test)
            yield from [one if asked else other] if isinstance(asked, bool) else [one, other]
        case ast.expr():
            yield value


def run_raise(machine: Machine, node: ast.Raise) -> None:
    """`raise`."""
    ends = node.exc is not None and called_name(node.exc) == "SystemExit"
    machine.out.append(Leave("exit" if ends else "raise"))


def run_break(machine: Machine, node: ast.Break) -> None:
    """`break`."""
    machine.out.append(Leave("break"))


def run_continue(machine: Machine, node: ast.Continue) -> None:
    """`continue`."""
    machine.out.append(Leave("continue"))


def chosen(asked: Condition, then: Program, orelse: Program) -> Program:
    """The program that asks, and goes one of two ways."""
    if isinstance(asked, bool):
        return then if asked else orelse
    if isinstance(asked, Ask):
        if not asked.positive:
            then, orelse = orelse, then
        return branch(then, orelse, asked.name)
    assert isinstance(asked, Both)
    first, rest = asked.parts[0], asked.parts[1:]
    others: Condition = rest[0] if len(rest) == 1 else Both(rest, asked.all)
    if asked.all:
        return chosen(first, chosen(others, then, orelse), orelse)
    return chosen(first, then, chosen(others, then, orelse))


def _without_strange_schedules(then: Program, orelse: Program) -> tuple[Program, Program]:
    """Where one side steps and schedules, and the other only schedules, somebody else steps."""
    stepping = [holds(then, Spends), holds(orelse, Spends)]
    if stepping[0] == stepping[1] or not holds(orelse if stepping[0] else then, Schedule):
        return then, orelse
    return (then, without(orelse, Schedule)) if stepping[0] else (without(then, Schedule), orelse)
