"""The rounds of a loop: walked once, and again with what the first one leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gradledger.ledger.events import Batch, EpochEnd, Keep, Schedule
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.domain.contents import carried_by
from gradledger.static.domain.flow import Flow, again, join
from gradledger.static.domain.scopes import LoopState
from gradledger.static.domain.values import NO_PLACES, Constant, Count, Items, Known, Thing, kept_in
from gradledger.static.ir.blocks import IDLE, acts, conditions_in, holds, sequence
from gradledger.static.ir.condition_names import is_own
from gradledger.static.ir.condition_names import ran_out as end_of
from gradledger.static.ir.effects import Deposits
from gradledger.static.ir.program import Branch, Call, Do, Forget, Leave, Loop, Program, Tick, Try
from gradledger.static.lower.item_calls import says_of
from gradledger.static.lower.loop_counters import is_endless, start_counters
from gradledger.static.lower.loop_shapes import (
    draws_data,
    is_range,
    is_set_back,
)
from gradledger.static.lower.windows import is_whole
from gradledger.static.source import syntax as ast
from gradledger.static.source.vocabulary import CUTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


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
    machine.log.numbered += 1
    id = f"loop {node.lineno}#{machine.log.numbered}"
    nested = bool(machine.context.loops)
    draws = data or not nested or draws_data(node)
    fresh = frozenset() if draws else names_given(machine)
    machine.effort.count_names(len(machine.flow.store))
    before, statements = machine.fork(), machine.effort.statements
    with machine.within(fresh=fresh):
        body, loop = _walk_round(machine, node, id, enter, {})
        changed = _left_behind(machine, before.store, loop, body)
        if acts(body) and (changed or _differs(before, machine.flow)):
            machine.flow = again(before, machine.fork(), changed)
            body, loop = _walk_round(machine, node, id, enter, changed)
    if not acts(body):
        machine.effort.statements = statements + len(node.body)
    if acts(body) and body.kinds - IDLE != {Schedule}:  # alone, it is brought forward
        write_rounds(
            machine,
            body,
            loop,
            machine.at(node),
            at_least=at_least,
            rounds=rounds,
            draws=draws,
            data_ends=(data or nested) and not is_endless(machine, node),
        )
        if loop.windows:
            ended = machine.context.scope.id, len(machine.context.loops)
            machine.flow = replace(machine.flow, rest_at=frozenset({ended}))
    # Where the data was empty, there is nothing that a counter could tell.
    counts = {n: v for n, v in machine.flow.store.items() if isinstance(v, Count) and v.loop == id}
    set_back = dict.fromkeys(loop.set_back, Count(""))
    met = join(before, machine.fork())
    machine.flow = replace(met, store=met.store | counts | set_back)


def _differs(before: Flow, after: Flow) -> bool:
    """Whether the next round finds something frozen, free or training that was not so before."""
    frozen = (before.frozen, before.half_frozen) != (after.frozen, after.half_frozen)
    return frozen or not before.evaluating <= after.evaluating


def names_given(machine: Machine) -> frozenset[str]:
    """The names that have got a value for the data at hand."""
    if not machine.context.loops or not machine.context.loops[-1].of_data:
        return frozenset()
    return machine.context.fresh | machine.context.loops[-1].assigned.keys()


def _walk_round(
    machine: Machine,
    node: ast.For | ast.AsyncFor | ast.While,
    id: str,
    enter: Callable[[LoopState], None],
    again: dict[str, Known],
) -> tuple[Program, LoopState]:
    loop = LoopState(id)
    with machine.within(loops=(*machine.context.loops, loop)):
        loop.of_data = isinstance(node, ast.For) and not is_range(node.iter)
        loop.node = node if isinstance(node, ast.For) else None

        def write() -> None:
            start_counters(machine, node, loop)
            enter(loop)
            machine.run(node.body)
            _hand_on(machine, loop, again, node)

        return machine.block(write), loop


def _left_behind(
    machine: Machine, before: dict[str, Known], loop: LoopState, body: Program
) -> dict[str, Known]:
    """Names that the next round finds changed, in a way that matters."""
    again: dict[str, Known] = {}
    deposits = holds(body, Deposits)
    for full in loop.read & loop.assigned.keys():
        old, new = before.get(full), machine.flow.store.get(full)
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
        left = machine.flow.store.get(full)
        if left is not None and kept_in(left):
            again[full] = left
    return again


def _hand_on(machine: Machine, loop: LoopState, again: dict[str, Known], node: ast.AST) -> None:
    """States that go into the next round with their graph."""
    for full in again:
        new, at = machine.flow.store.get(full), loop.assigned.get(full)
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
        machine.context.ended.append((ran_out, EpochEnd(at, restarts=True)))
    machine.out += own
    whole = sequence([*start, body])
    machine.out.append(Loop(whole, at_least, loop.last, loop.first, ran_out))
    machine.out += own


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
