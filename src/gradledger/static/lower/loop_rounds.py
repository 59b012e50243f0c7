"""The rounds of a loop: walked once, and again with what the first one leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gradledger.ledger.events import Batch, EpochEnd, Keep, Schedule
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.domain.join import joined
from gradledger.static.domain.scopes import LoopState
from gradledger.static.domain.values import (
    NO_PLACES,
    Constant,
    Count,
    FunctionDef,
    Items,
    Known,
    Thing,
    carried_by,
    kept_in,
)
from gradledger.static.ir.blocks import IDLE, acts, conditions_in, holds, sequence
from gradledger.static.ir.condition_names import is_own
from gradledger.static.ir.condition_names import ran_out as end_of
from gradledger.static.ir.effects import Deposits
from gradledger.static.ir.program import Branch, Call, Do, Forget, Leave, Loop, Program, Tick, Try
from gradledger.static.lower.attributes import method_of
from gradledger.static.lower.call_graph import goes_on_for_ever
from gradledger.static.lower.gradient_calls import says_of
from gradledger.static.lower.loop_shapes import (
    PASSING_ON,
    draws_data,
    fails_in_time,
    is_enough,
    is_range,
    is_set_back,
    sets,
    stops_behind_a_step,
)
from gradledger.static.lower.names import full_name
from gradledger.static.lower.spelling import called_name
from gradledger.static.lower.windows import eval_quietly, is_whole
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import CUTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

COUNTS = Pattern(r"\+=\s*1\b")


def walk_loop(
    machine: Machine,
    node: ast.For | ast.AsyncFor | ast.While,
    enter: Callable[[LoopState], None],
    *,
    data: bool,
    at_least: int,
    rounds: int | None = None,
) -> None:
    """A loop: walked once, and again with what the first round leaves behind."""
    machine._scope_count += 1
    id = f"loop {node.lineno}#{machine._scope_count}"
    nested = bool(machine.loops)
    draws = data or not nested or draws_data(node)
    outer, machine.fresh = machine.fresh, frozenset() if draws else names_given(machine)
    machine.count_comparison()
    before, frozen, parted = dict(machine.store), machine.frozen, machine.frozen_if
    half_frozen, evaluating = machine.half_frozen, machine.evaluating
    statements = machine.statements
    body, loop = _walk_round(machine, node, id, enter, {})
    again = _left_behind(machine, before, loop, body)
    otherwise = machine.frozen != frozen or machine.half_frozen != half_frozen
    if acts(body) and (again or otherwise or not evaluating <= machine.evaluating):
        machine.store = joined(before, machine.store) | again
        machine.evaluating &= evaluating
        body, loop = _walk_round(machine, node, id, enter, again)
    elif not acts(body):
        machine.statements = statements + len(node.body)
    if acts(body) and body.kinds - IDLE != {Schedule}:  # alone, it is brought forward
        write_rounds(
            machine,
            body,
            loop,
            machine.at(node),
            at_least=at_least,
            rounds=rounds,
            draws=draws,
            data_ends=(data or nested) and not _is_endless(machine, node),
        )
        if loop.windows:
            machine.rest_at = machine.scope.id, len(machine.loops)
    machine.fresh = outer
    # Where the data was empty, there is nothing that a counter could tell.
    counts = {n: v for n, v in machine.store.items() if isinstance(v, Count) and v.loop == id}
    set_back = dict.fromkeys(loop.set_back, Count(""))
    machine.store = joined(before, machine.store) | counts | set_back
    machine.frozen &= frozen
    machine.evaluating &= evaluating
    machine.frozen_if &= parted


def names_given(machine: Machine) -> frozenset[str]:
    """The names that have got a value for the data at hand."""
    if not machine.loops or not machine.loops[-1].of_data:
        return frozenset()
    return machine.fresh | machine.loops[-1].assigned.keys()


def _is_endless(machine: Machine, node: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Is it left by a `break` or a `return` alone, as `for batch in cycle(loader)` is?"""
    if isinstance(node, ast.While) or stops_behind_a_step(node) or fails_in_time(node):
        return True
    if not machine.loops and any(map(is_enough, ast.walk(node))):
        return True
    source = node.iter
    while isinstance(source, ast.Call) and called_name(source) in PASSING_ON and source.args:
        source = source.args[0]
    value = eval_quietly(machine, source)
    if isinstance(value, Thing) and value.cls and method_of(machine, value.cls, "__iter__"):
        return _gives_for_ever(machine, value)
    if not isinstance(source, ast.Call):
        return False
    made = eval_quietly(machine, source.func)
    if isinstance(made, FunctionDef):
        return goes_on_for_ever(made.node)
    return called_name(source) in ("cycle", "count")


def _gives_for_ever(machine: Machine, loader: Thing, deep: int = 3) -> bool:
    """Does its `__iter__` never end, or go through another that it holds, which never does?"""
    iterate = method_of(machine, loader.cls, "__iter__") if loader.cls and deep else None
    if iterate is None or goes_on_for_ever(iterate.node):
        return iterate is not None
    inside = list(ast.walk(iterate.node))
    if any(isinstance(inner, ast.Break | ast.Return) for inner in inside):
        return False
    held = (machine.store.get(f"{loader.key}.{name}") for name in map(_gone_through, inside))
    return any(isinstance(h, Thing) and _gives_for_ever(machine, h, deep - 1) for h in held)


def _walk_round(
    machine: Machine,
    node: ast.For | ast.AsyncFor | ast.While,
    id: str,
    enter: Callable[[LoopState], None],
    again: dict[str, Known],
) -> tuple[Program, LoopState]:
    loop = LoopState(id)
    machine.loops.append(loop)
    try:
        loop.of_data = isinstance(node, ast.For) and not is_range(node.iter)
        loop.node = node if isinstance(node, ast.For) else None

        def write() -> None:
            _start_counters(machine, node, loop)
            enter(loop)
            machine.run(node.body)
            _hand_on(machine, loop, again, node)

        return machine.block(write), loop
    finally:
        machine.loops.pop()


def _start_counters(
    machine: Machine, node: ast.For | ast.AsyncFor | ast.While, loop: LoopState
) -> None:
    """Names that count rounds: they start at a number, and each round adds one."""
    text = machine.scope.module.text(node)
    if "+=" not in text or not COUNTS.search(text):
        return
    for statement in node.body:
        for inner in (
            ast.walk(statement) if not isinstance(statement, ast.FunctionDef | ast.ClassDef) else ()
        ):
            if not isinstance(inner, ast.AugAssign) or not isinstance(inner.op, ast.Add):
                continue
            if not (isinstance(inner.value, ast.Constant) and inner.value.value == 1):
                continue
            if not isinstance(inner.target, ast.Name | ast.Attribute):
                continue
            value = machine.eval(inner.target)
            if isinstance(value, Constant) and isinstance(value.value, int):
                direct = inner is statement
                if direct and isinstance(inner.target, ast.Name) and sets(inner.target, node):
                    loop.set_back[full_name(machine, inner.target.id)] = value.value
                machine.rebind(inner.target, Count(loop.id if direct else "", value.value))
            elif isinstance(value, Thing) and not value.reach:
                machine.rebind(inner.target, Count(""))


def _left_behind(
    machine: Machine, before: dict[str, Known], loop: LoopState, body: Program
) -> dict[str, Known]:
    """Names that the next round finds changed, in a way that matters."""
    again: dict[str, Known] = {}
    deposits = holds(body, Deposits)
    for full in loop.read & loop.assigned.keys():
        old, new = before.get(full), machine.store.get(full)
        if old is None or new is None or old == new:
            continue
        if full in loop.set_back:
            again[full] = old
            continue
        if isinstance(new, Count):
            # A counter of this very loop starts where it did; any other runs on.
            own = new.loop == loop.id
            again[full] = old if own else Count("") if isinstance(old, Constant) else new
        elif isinstance(new, Thing) and new.sure and not new.plain and deposits:
            if not new.kept:
                carried = new.carried | {loop.assigned[full]}
                again[full] = replace(new, carried=carried, passes=NO_PLACES)
            else:
                again[full] = replace(new, passes=NO_PLACES)
        elif isinstance(new, Items) and (carried_by(new) or kept_in(new)):
            again[full] = new
    for full in loop.assigned.keys() - loop.read:
        # Made anew in each round: what the last one put into it is let go.
        left = machine.store.get(full)
        if left is not None and kept_in(left):
            again[full] = left
    return again


def _hand_on(machine: Machine, loop: LoopState, again: dict[str, Known], node: ast.AST) -> None:
    """States that go into the next round with their graph."""
    for full in again:
        new, at = machine.store.get(full), loop.assigned.get(full)
        if not isinstance(new, Thing) or not new.sure or new.plain or new.kept:
            continue
        # What is made anew, and not of what it was, has no graph but its own.
        if at not in new.carried or any(says_of(machine, key, CUTS) for key in new.reach):
            continue
        if not is_set_back(full.rpartition(":")[2], node):
            machine.emit(Keep(at, "state", walked=True))


def write_rounds(
    machine: Machine,
    body: Program,
    loop: LoopState,
    at: Place,
    *,
    at_least: int = 0,
    rounds: int | None = None,
    draws: bool = True,
    data_ends: bool = True,
) -> None:
    """A loop around a body: counters tick, and each round may go on to other data."""
    used = conditions_in(body)
    windows = {w: c for w, c in loop.windows.items() if {c[0], c[1]} & used}
    own = [Forget(c) for w, (*both, _) in windows.items() if is_own(w) for c in both]
    start: list[Program] = [Tick(s, e, size != 2) for s, e, size in windows.values()]
    if draws or windows:
        start.append(Do(Batch(at)))
    even = rounds and all(size and rounds % size == 0 for *_, size in windows.values())
    even = even or (bool(own) and all(map(partial(is_whole, machine), filter(is_own, windows))))
    ran_out = end_of(loop.id) if own and data_ends and not even else None
    if ran_out is not None:
        machine.ended.append((ran_out, EpochEnd(at, restarts=True)))
    machine.out += own
    whole = sequence([*start, body])
    machine.out.append(Loop(whole, at_least, loop.last, loop.first, ran_out))
    machine.out += own


def _gone_through(node: ast.AST) -> str:
    """The `loader` of `iter(self.loader)`, and of `for batch in self.loader`."""
    match node:
        case ast.Call(ast.Name("iter"), [ast.Attribute(ast.Name("self"), name)]):
            return name
        case ast.For(iter=ast.Attribute(ast.Name("self"), name)):
            return name
    return ""


def once(machine: Machine, body: list[ast.stmt]) -> None:
    """A body that is as good as done once; its own exits end there."""
    write_once(machine, machine.block(lambda: machine.run(body)))


def write_once(machine: Machine, block: Program) -> None:
    """What is done once, although the text says that it is a loop: its exits end there."""
    if acts(block):
        inside = Call(block, "continue") if leaves_loop(block) else block
        machine.out.append(Call(inside, "break") if leaves_loop(block) else block)


def leaves_loop(program: Program) -> bool:
    """Is there a `break` or `continue` in it, of the loop around it?"""
    from gradledger.static.ir.program import Sequence

    match program:
        case Leave(by):
            return by in ("break", "continue")
        case Sequence(parts):
            return any(map(leaves_loop, parts))
        case Branch(then, orelse):
            return leaves_loop(then) or leaves_loop(orelse)
        case Try(body, handler):
            return leaves_loop(body) or leaves_loop(handler)
        case Call(body, "return"):
            return leaves_loop(body)
        case _:
            return False
