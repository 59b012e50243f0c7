"""Branches and exits: the ways through a function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial, reduce

from gradledger.ledger.events import Schedule
from gradledger.static.domain.join import join
from gradledger.static.domain.values import NONE, Count, FunctionDef, Scaler, Thing
from gradledger.static.ir.blocks import acts, branch, events_in, holds, sequence, without
from gradledger.static.ir.effects import Excuses, Spends
from gradledger.static.ir.program import Leave, Program
from gradledger.static.lower.call_graph import called_in, spends
from gradledger.static.lower.condition_keys import Ask, Both, Condition, counts_rounds
from gradledger.static.lower.conditions import condition
from gradledger.static.lower.expressions import source_of
from gradledger.static.lower.names import full_name, names_walked_back
from gradledger.static.lower.spelling import called_name, last_name
from gradledger.static.lower.windows import eval_quietly
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import DEPOSITS, DOES, STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

GUARD = Pattern(
    r"(?i)isfinite|isnan|isinf|nan\b|\binf\b|norm|overflow|skip|bad|invalid|anomal|outlier|explod|thresh|valid"
)

OF_FLAGS = frozenset({"GL101", "GL201"})
"""Rules by which a clear comes too seldom, or too often: flags that go from round to round are not
followed."""

CLEARS = Pattern(r"zero_grad\(|\._?grad\b", words=("zero_grad(", ".grad", "._grad"))

_ASK_OF_WHICH_KIND = frozenset(
    {"isinstance", "issubclass", "hasattr", "getattr", "callable", "get"}
)

LEAVING = (ast.Continue, ast.Return, ast.Break, ast.Raise)


def run_if(machine: Machine, node: ast.If) -> None:
    """`if`."""
    if _skips_a_beginning(machine, node):
        return
    if _asks_for_a_flag(machine, node):
        machine.doubted |= OF_FLAGS
    asked = condition(machine, node.test)
    if isinstance(asked, bool):
        machine.run(node.body if asked else node.orelse)
        return
    if machine.in_parameters and not machine.partly:
        # What is done to some of the parameters is not done to all.
        machine.partly = True
        _write_branch(machine, node, asked)
        machine.partly = False
        return
    _write_branch(machine, node, asked)


def _asks_for_a_flag(machine: Machine, node: ast.If) -> bool:
    """`if spent: zero_grad()`, where each round says anew what it leaves to the next."""
    match node.test:
        case ast.UnaryOp(ast.Not(), ast.Name(id=flag) | ast.Attribute(attr=flag)):
            pass
        case ast.Name(id=flag) | ast.Attribute(attr=flag):
            pass
        case _:
            return False
    module = machine.scope.module
    return module.says(CLEARS, node) and _times_answered(machine, module)[flag] > 1


def _times_answered(machine: Machine, module: Module) -> Counter[str]:
    """How often a file says of each name yes, no, or whether two things are equal.

    `spent = True`, and somewhere else `spent = i % n == 0`.
    """
    known = machine.known.answered.get(id(module))
    if known is None:
        known = machine.known.answered[id(module)] = Counter(_answered(module.tree))
    return known


def _skips_a_beginning(machine: Machine, node: ast.If) -> bool:
    """`if done < start: continue` ahead of all else: as if these rounds were not there."""
    if node.orelse or not isinstance(node.body[-1], ast.Continue):
        return False
    if any(map(acts, machine.out)) or machine.scope.module.says(DOES, node):
        return False
    tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    return any(isinstance(machine.eval(low), Count) for low in map(_bounded_above, tests) if low)


def _write_branch(machine: Machine, node: ast.If, asked: Condition) -> None:
    spelled = source_of(machine, node.test)
    guard = bool(GUARD.search(spelled))
    flush = not counts_rounds(asked) and (
        _asks_for_a_rest(machine, node.test, spelled) or _follows_windows(machine, node)
    )
    if _asks_anew(machine, asked) and not node.orelse and _unscales_if_enabled(machine, node):
        machine.doubted.add("GL405")  # where there is no scale, nothing is unscaled
        machine.run(node.body)
        return
    goes_on = not node.orelse and not isinstance(node.body[-1], LEAVING)
    if (guard or flush) and goes_on and makes_a_step(machine, node):
        # Who looks whether a gradient is finite, or whether a window is left, means to step.
        machine.run(node.body)
        return

    def body(statements: list[ast.stmt]) -> Callable[[], None]:
        def write() -> None:
            if _gives_up(machine, statements, node.test, guard, asked):
                excuse_drops(machine, node)
            machine.run(statements)

        return write

    then, orelse = machine.both(body(node.body), body(node.orelse))
    _note_frozen(machine, asked)
    if guard and holds(then, Spends) != holds(orelse, Spends):
        # No step behind a guard: what is dropped later on is dropped for a reason.
        excuse = machine.block(lambda: excuse_drops(machine, node))
        if holds(then, Spends):
            orelse = sequence([excuse, orelse])
        else:
            then = sequence([excuse, then])
    then, orelse = _without_strange_schedules(then, orelse)
    if _asks_when(node.test) or isinstance(eval_quietly(machine, node.test), Count):
        for way in (then, orelse):
            if not holds(way, Spends):
                machine.deferred |= {e.at for e in events_in(way) if isinstance(e, Schedule)}
    machine.out.append(chosen(asked, then, orelse))


def _note_frozen(machine: Machine, asked: Condition) -> None:
    """What one answer has frozen stays so wherever the same is asked again."""
    if counts_rounds(asked):
        machine.half_frozen |= frozenset().union(*machine.frozen_apart)
    elif isinstance(asked, Ask) and asked.name:
        for keys, way in zip(
            machine.frozen_apart, (asked.positive, not asked.positive), strict=True
        ):
            machine.frozen_if |= {(key, asked.name, way) for key in keys}


def _asks_anew(machine: Machine, asked: Condition) -> bool:
    """Has nothing so far depended on the same question?"""
    if not isinstance(asked, Ask) or not asked.name:
        return not counts_rounds(asked)
    anew = asked.name not in machine.questions
    machine.questions.add(asked.name)
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


def _asks_for_a_rest(machine: Machine, test: ast.expr, spelled: str) -> bool:
    """`if len(loader) % n`, a name for that, or a flag that the loop before has left."""
    if isinstance(test, ast.Name):
        deep = machine.flags.get(full_name(machine, test.id), 0)
        if deep > len(machine.loops):
            return True
    if not machine.remainders and "%" not in spelled:
        return False
    return any(
        isinstance(inner, ast.Mod)
        or (isinstance(inner, ast.Name) and full_name(machine, inner.id) in machine.remainders)
        for inner in ast.walk(test)
    )


def _follows_windows(machine: Machine, node: ast.If) -> bool:
    """Is it behind a loop with windows, and no training of its own? Whatever it asks for."""
    ended = machine.rest_at == (machine.scope.id, len(machine.loops))
    return ended and not machine.scope.module.says(DEPOSITS, node)


def makes_a_step(machine: Machine, node: ast.If) -> bool:
    """Does it make a step, by itself or by what it calls?"""
    scope = machine.scope
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
    outlier = guard or (leaves and not counts_rounds(asked) and _looks_at_a_loss(machine, test))
    if leaves and outlier:
        return True
    drops = any(CLEARS.search(machine.scope.module.text(s)) for s in statements)
    return drops and (guard or leaves)


def _looks_at_a_loss(machine: Machine, test: ast.expr) -> bool:
    """`if loss > 100: continue`: this batch is not to count."""
    names = {inner.id for inner in ast.walk(test) if isinstance(inner, ast.Name)}
    return not names.isdisjoint(names_walked_back(machine)) or any(
        "loss" in n.lower() for n in names
    )


def excuse_drops(machine: Machine, node: ast.AST) -> None:
    """Behind a guard, or where an iteration is given up, to drop gradients is on purpose."""
    machine.emit(Excuses(machine.at(node)))


def run_match(machine: Machine, node: ast.Match) -> None:
    """`match`: one of the cases."""
    machine.eval(node.subject)

    def rest(cases: list[ast.match_case]) -> None:
        if not cases:
            return
        then, orelse = machine.both(lambda: machine.run(cases[0].body), lambda: rest(cases[1:]))
        machine.out.append(branch(then, orelse, None))

    rest(node.cases)


def run_return(machine: Machine, node: ast.Return) -> None:
    """`return`."""
    ways = [machine.eval(way) for way in _ways_to_return(machine, node.value)] or [NONE]
    machine.returned(reduce(join, ways), node)
    machine.scope.returned += ways
    machine.out.append(Leave("return"))


def _ways_to_return(machine: Machine, value: ast.expr | None) -> Iterator[ast.expr]:
    """`return out if y is None else (loss, out)`: one thing, or several."""
    match value:
        case ast.IfExp(test, one, other) if isinstance(one, ast.Tuple) is not isinstance(
            other, ast.Tuple
        ):
            answer = machine.answer(test)
            yield from [one, other] if answer is None else [one if answer else other]
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


def _answered(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_an_answer(node.value):
            yield from {last_name(target) for target in node.targets}


def _is_an_answer(value: ast.expr) -> bool:
    """Yes, no, or whether two things are equal?"""
    return any(
        (isinstance(inner, ast.Constant) and isinstance(inner.value, bool) and inner is value)
        or (isinstance(inner, ast.Compare) and isinstance(inner.ops[0], ast.Eq))
        for inner in ast.walk(value)
    )


def _asks_when(test: ast.expr) -> bool:
    """`epoch != 0`, `step < start`, `takes_over(step)`: not of which kind it is, but when."""
    return any(
        called_name(inner) not in _ASK_OF_WHICH_KIND
        if isinstance(inner, ast.Call)
        else isinstance(inner, ast.Compare) and _compares_numbers(inner)
        for inner in ast.walk(test)
    )


def _compares_numbers(compared: ast.Compare) -> bool:
    return not isinstance(compared.ops[0], ast.Is | ast.IsNot) and not any(
        isinstance(side, ast.Constant) and isinstance(side.value, str)
        for side in (compared.left, *compared.comparators)
    )


def _without_strange_schedules(then: Program, orelse: Program) -> tuple[Program, Program]:
    """Where one side steps and schedules, and the other only schedules, somebody else steps."""
    stepping = [holds(then, Spends), holds(orelse, Spends)]
    if stepping[0] == stepping[1] or not holds(orelse if stepping[0] else then, Schedule):
        return then, orelse
    return (then, without(orelse, Schedule)) if stepping[0] else (without(then, Schedule), orelse)


def _bounded_above(test: ast.expr) -> ast.expr | None:
    """What is asked to be small: `i` in `i < start` and in `start > i`."""
    match test:
        case ast.Compare(left=low, ops=[ast.Lt() | ast.LtE()]):
            return low
        case ast.Compare(ops=[ast.Gt() | ast.GtE()], comparators=[low]):
            return low
    return None
