"""Loops: over data, over parameters, over optimizers, and the counters that close windows."""

from __future__ import annotations

from gradledger.static import budget
from gradledger.static.domain.scopes import LoopState
from gradledger.static.domain.values import (
    PLAIN,
    UNKNOWN,
    Constant,
    Count,
    Gradients,
    Items,
    Known,
    Parameters,
    Thing,
)
from gradledger.static.ir.program import Call
from gradledger.static.lower.expressions import cut, cuts_each
from gradledger.static.lower.loop_items import (
    counter_of,
    is_spelled_out,
    items_of,
    least_rounds,
    length,
)
from gradledger.static.lower.loop_rounds import (
    leaves_loop,
    names_given,
    once,
    walk_loop,
    write_once,
)
from gradledger.static.lower.loop_shapes import asks_for_its_turn, draws_data, is_range
from gradledger.static.lower.optimizer_loops import (
    indexed_collection,
    once_for_each,
    over_optimizers,
    picking,
)
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import CUTS_IN_PLACE, DEPOSITS, STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


STEPS_OF_ITEMS = Pattern(r"\]\.(?:step|zero_grad)\(")


def run_for(machine: Machine, node: ast.For | ast.AsyncFor) -> None:
    """`for`."""
    if machine.context.scope.module.says(CUTS_IN_PLACE, node) and cuts_each(
        node.target, *node.body
    ):
        cut(machine, node.iter)
    items, rounds = items_of(machine, node.iter)
    if isinstance(items, Parameters):
        # What is done to any one of them is done to all.
        machine.assign(node.target, _one_of(machine, items, node))
        with machine.within(partly=False, in_parameters=machine.context.in_parameters + 1):
            once(machine, node.body)
        return
    if over_optimizers(machine, node, items):
        return
    if isinstance(items, Gradients) or _over_gradients(machine, node, items):
        machine.assign(node.target, items)
        once(machine, node.body)
        return
    indexed = indexed_collection(machine, node.iter)
    if isinstance(indexed, Items) and indexed.values:
        items = Items(tuple(map(Constant.of, range(len(indexed.values)))))
    elif indexed is not None and STEPS_OF_ITEMS.search(machine.context.scope.module.text(node)):
        # A collection that nobody knows: all of its optimizers are as one.
        machine.assign(node.target, UNKNOWN)
        once(machine, node.body)
        return
    elif counter := picking(machine, node, items):
        machine.assign(node.target, UNKNOWN)
        once_for_each(machine, counter, node.body)
        return
    if isinstance(items, Items) and 0 < len(items.values) <= 6 and _worth_unrolling(items):
        _unrolled(machine, node, items)
        return
    if turns := _turns(machine, node, rounds):
        _unrolled(machine, node, turns)
        return
    at_least = least_rounds(machine, node)
    data = not (is_range(node.iter) or is_spelled_out(node.iter))
    if not data and _slices_a_window(machine, node):
        from gradledger.static.lower.batch_slices import may_be_whole

        data = True
        if not may_be_whole(node, machine.context.scope.module.tree):
            at_least = 2

    def enter(loop: LoopState) -> None:
        _bind_target(machine, node, items, loop)

    walk_loop(machine, node, enter, data=data, at_least=at_least, rounds=rounds)
    machine.run(node.orelse)


def _turns(machine: Machine, node: ast.For | ast.AsyncFor, rounds: int | None) -> Items | None:
    """The few turns in each round of the loop around, where they go different ways."""
    if (
        rounds is None
        or not 1 < rounds <= budget.MOST_TURNS
        or not machine.context.loops
        or node.orelse
    ):
        return None
    if not is_range(node.iter) or not asks_for_its_turn(node) or draws_data(node):
        return None
    return Items(tuple(map(Constant.of, range(rounds))))


def _slices_a_window(machine: Machine, node: ast.For | ast.AsyncFor) -> bool:
    """Does it deposit for each slice of a batch, and leave the step to what follows it?"""
    says = machine.context.scope.module.says
    if not says(DEPOSITS, node) or says(STEPS, node):
        return False
    from gradledger.static.lower.batch_slices import cuts_slices

    return cuts_slices(node)


def _over_gradients(machine: Machine, node: ast.For | ast.AsyncFor, items: Known) -> bool:
    """A loop over parameters that nobody knows: what is done to one is done to all."""
    if not isinstance(items, Thing) or not isinstance(node.target, ast.Name):
        return False
    grad = Pattern(rf"\b{node.target.id}\._?grad\b")
    text = machine.context.scope.module.text(node)
    return "grad" in text and bool(grad.search(text))


def _one_of(machine: Machine, parameters: Parameters, node: ast.For | ast.AsyncFor) -> Known:
    if isinstance(node.target, ast.Tuple) and len(node.target.elts) == 2:
        return Items((PLAIN, parameters))
    return parameters


def _unrolled(machine: Machine, node: ast.For | ast.AsyncFor, items: Items) -> None:
    single = len(items.values) == 1 and isinstance(items.values[0], Items)
    over_parameters = single and any(
        isinstance(v, Parameters)
        for v in items.values[0].values  # type: ignore[union-attr]
    )

    def rest(values: tuple[Known, ...]) -> None:
        letters = machine.context.scope.module.size(node)
        for value in values:
            machine.effort.count_work(letters // budget.LETTERS_IN_A_STEP)
            machine.assign(node.target, value)
            block = machine.block(lambda: machine.run(node.body))
            machine.out.append(Call(block, "continue") if leaves_loop(block) else block)

    depth = machine.context.in_parameters + over_parameters
    with machine.within(partly=False, fresh=names_given(machine), in_parameters=depth):
        write_once(machine, machine.block(lambda: rest(items.values)))


def _bind_target(
    machine: Machine, node: ast.For | ast.AsyncFor, items: Known, loop: LoopState
) -> None:
    element: Known = UNKNOWN if not isinstance(items, Thing | Count) else items
    if isinstance(items, Items):
        element = UNKNOWN
    counter = counter_of(node, machine)
    if counter is not None:
        start, simple = counter
        count = Count(loop.id, start)
        if simple:
            loop.length = length(node.iter, machine)
            machine.assign(node.target, count)
            return
        assert isinstance(node.target, ast.Tuple)
        machine.assign(node.target.elts[0], count)
        for target in node.target.elts[1:]:
            machine.assign(target, element)
        return
    machine.assign(node.target, element)


def run_while(machine: Machine, node: ast.While) -> None:
    """`while`."""
    machine.eval(node.test)
    walk_loop(machine, node, lambda loop: None, data=True, at_least=0)


def _worth_unrolling(items: Items) -> bool:
    """Known optimizers, models or phases, or a few numbers."""
    return len(items.values) <= 4 or any(
        not isinstance(v, Constant) or isinstance(v.value, str) for v in items.values
    )
