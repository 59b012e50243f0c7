"""Loops: over data, over parameters, over optimizers, and the counters that close windows."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.scopes import LETTERS_IN_A_STEP, LoopState
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
    is_plain,
    key_of,
)
from gradledger.static.ir.program import Call
from gradledger.static.lower.expressions import cut, cuts_each, source_of
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
from gradledger.static.lower.spelling import called_name
from gradledger.static.models.facts import ITERATION_WRAPPERS
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import CUTS_IN_PLACE, DEPOSITS, STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

PIECES = frozenset(["chunk", "split", "tensor_split"])
"""Who cuts a batch into pieces has two or more."""

MOST_TURNS = 4
"""So many rounds that do not do the same are followed one by one."""

STEPS_OF_ITEMS = Pattern(r"\]\.(?:step|zero_grad)\(")


def run_for(machine: Machine, node: ast.For | ast.AsyncFor) -> None:
    """`for`."""
    machine.rounds = None
    if machine.scope.module.says(CUTS_IN_PLACE, node) and cuts_each(node.target, *node.body):
        cut(machine, node.iter)
    items = machine.items_of(node.iter)
    rounds = machine.rounds
    if isinstance(items, Parameters):
        # What is done to any one of them is done to all.
        machine.assign(node.target, _one_of(machine, items, node))
        guarded, partly = machine.guarded, machine.partly
        machine.partly, machine.in_parameters = False, machine.in_parameters + 1
        once(machine, node.body)
        machine.guarded, machine.partly = guarded, partly
        machine.in_parameters -= 1
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
    elif indexed is not None and STEPS_OF_ITEMS.search(machine.scope.module.text(node)):
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
    at_least = _at_least(machine, node)
    data = not (is_range(node.iter) or _is_spelled_out(node.iter))
    if not data and _slices_a_window(machine, node):
        from gradledger.static.lower.batch_slices import may_be_whole

        data = True
        if not may_be_whole(node, machine.scope.module.tree):
            at_least = 2

    def enter(loop: LoopState) -> None:
        _bind_target(machine, node, items, loop)

    walk_loop(machine, node, enter, data=data, at_least=at_least, rounds=rounds)
    machine.run(node.orelse)


def _turns(machine: Machine, node: ast.For | ast.AsyncFor, rounds: int | None) -> Items | None:
    """The few turns in each round of the loop around, where they go different ways."""
    if rounds is None or not 1 < rounds <= MOST_TURNS or not machine.loops or node.orelse:
        return None
    if not is_range(node.iter) or not asks_for_its_turn(node) or draws_data(node):
        return None
    return Items(tuple(map(Constant.of, range(rounds))))


def _slices_a_window(machine: Machine, node: ast.For | ast.AsyncFor) -> bool:
    """Does it deposit for each slice of a batch, and leave the step to what follows it?"""
    says = machine.scope.module.says
    if not says(DEPOSITS, node) or says(STEPS, node):
        return False
    from gradledger.static.lower.batch_slices import cuts_slices

    return cuts_slices(node)


def _over_gradients(machine: Machine, node: ast.For | ast.AsyncFor, items: Known) -> bool:
    """A loop over parameters that nobody knows: what is done to one is done to all."""
    if not isinstance(items, Thing) or not isinstance(node.target, ast.Name):
        return False
    grad = Pattern(rf"\b{node.target.id}\._?grad\b")
    text = machine.scope.module.text(node)
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
    partly, machine.partly = machine.partly, False
    outer, machine.fresh = machine.fresh, names_given(machine)
    machine.in_parameters += over_parameters

    def rest(values: tuple[Known, ...]) -> None:
        letters = machine.scope.module.size(node)
        for value in values:
            machine.count_work(letters // LETTERS_IN_A_STEP)
            machine.assign(node.target, value)
            block = machine.block(lambda: machine.run(node.body))
            machine.out.append(Call(block, "continue") if leaves_loop(block) else block)

    write_once(machine, machine.block(lambda: rest(items.values)))
    machine.in_parameters -= over_parameters
    machine.partly, machine.fresh = partly, outer


def _at_least(machine: Machine, node: ast.For | ast.AsyncFor) -> int:
    """A loop over a known or an accumulating number of rounds."""
    if is_range(node.iter) and isinstance(node.iter, ast.Call) and node.iter.args:
        bound = node.iter.args[-1 if len(node.iter.args) < 3 else 1]
        value = machine.eval(bound)
        if isinstance(value, Constant) and isinstance(value.value, int):
            return min(max(value.value, 0), 2)
        if _accumulates(ast.unparse(bound)):
            return 2
    calls = [inner for inner in ast.walk(node.iter) if isinstance(inner, ast.Call)]
    return min((_pieces(machine, c) for c in calls if called_name(c) in PIECES), default=0)


def _pieces(machine: Machine, cut: ast.Call) -> int:
    """Into how many pieces a batch is cut: two or more, where the number is not known."""
    number = machine.eval(cut.args[0]) if cut.args else UNKNOWN
    if called_name(cut) == "split" or not isinstance(number, Constant):
        return 2
    return min(max(number.value, 0), 2) if isinstance(number.value, int) else 2


def _bind_target(
    machine: Machine, node: ast.For | ast.AsyncFor, items: Known, loop: LoopState
) -> None:
    element: Known = UNKNOWN if not isinstance(items, Thing | Count) else items
    if isinstance(items, Items):
        element = UNKNOWN
    counter = _counter(node, machine)
    if counter is not None:
        start, simple = counter
        count = Count(loop.id, start)
        if simple:
            loop.length = _length(node.iter, machine)
            machine.assign(node.target, count)
            return
        assert isinstance(node.target, ast.Tuple)
        machine.assign(node.target.elts[0], count)
        for target in node.target.elts[1:]:
            machine.assign(target, element)
        return
    machine.assign(node.target, element)


def items_of(machine: Machine, node: ast.expr) -> Known:
    """What a loop over this goes through."""
    if isinstance(node, ast.Call):
        name = called_name(node)
        if name in ITERATION_WRAPPERS and node.args:
            inner = [machine.items_of(a) for a in node.args if not isinstance(a, ast.Constant)]
            if name == "zip" and any(isinstance(i, Parameters) for i in inner):
                return Items((Items(tuple(inner)),))
            if name == "zip" and len(inner) > 1:
                if all(isinstance(i, Items) for i in inner):
                    rows = zip(*(i.values for i in inner), strict=False)  # type: ignore[union-attr]
                    return Items(tuple(Items(row) for row in rows))
                if not all(map(is_plain, inner)):
                    machine.doubted.add("GL703")
                return PLAIN
            if name == "enumerate" and inner and isinstance(inner[0], Items):
                pairs = enumerate(inner[0].values)
                return Items(tuple(Items((Constant.of(i), v)) for i, v in pairs))
            return inner[0] if inner else PLAIN
        if name in ("range", "trange", "count"):
            values = [machine.eval(argument) for argument in node.args]
            if len(values) == 1 and isinstance(values[0], Constant):
                known = values[0].value
                machine.rounds = known if isinstance(known, int) else None
            return PLAIN
    value = machine.eval(node)
    if isinstance(value, Thing) and value.shape:
        machine.rounds = value.shape[0]
    match value:
        case Items():
            return Items(tuple(map(key_of, value.names))) if value.names else value
        case Parameters() | Gradients():
            return value
        case Thing():
            if value.kept or (value.reach and value.sure):
                return replace(value, key="", leaf=False)
            role = machine.uses().role(value.key) if value.key else None
            if role in ("optimizer", "scaler", "scheduler", "model"):
                return replace(value, key=f"{value.key}[*]")
            if value.reach or value.maybe:
                machine.doubted.add("GL703")  # each may have a part of that graph
            return PLAIN
        case _:
            return PLAIN


def run_while(machine: Machine, node: ast.While) -> None:
    """`while`."""
    machine.eval(node.test)
    walk_loop(machine, node, lambda loop: None, data=True, at_least=0)


def _counter(node: ast.For | ast.AsyncFor, machine: Machine) -> tuple[int, bool] | None:
    """Where a loop's own counter starts, and whether it is all that the loop gives."""
    call: ast.expr = node.iter
    while isinstance(call, ast.Call) and called_name(call) in ("tqdm", "track", "list", "iter"):
        if not call.args:
            return None
        call = call.args[0]
    if isinstance(call, ast.Name | ast.Attribute) and isinstance(node.target, ast.Tuple):
        value = machine.eval(call)
        if not isinstance(value, Thing) or value.built != "builtins.enumerate":
            return None
        # One that was handed in goes on where the last call has left it.
        return (0, False) if value.depth >= len(machine.loops) - 1 else None
    if not isinstance(call, ast.Call):
        return None
    name = called_name(call)
    if name == "enumerate" and isinstance(node.target, ast.Tuple):
        given = (
            call.args[1]
            if len(call.args) > 1
            else next((k.value for k in call.keywords if k.arg == "start"), None)
        )
        value = machine.eval(given) if given is not None else Constant.of(0)
        start = value.value if isinstance(value, Constant) else None
        return (start, False) if isinstance(start, int) else None
    if name == "zip" and isinstance(node.target, ast.Tuple) and call.args:
        # With another bound, it says how much of the data there is to be.
        counts_all = ast.unparse(call.args[0]).startswith(("range(len(", "count()"))
        return (0, False) if counts_all else None
    if name in ("range", "trange") and isinstance(node.target, ast.Name):
        if len(call.args) > 2:
            return None
        value = machine.eval(call.args[0]) if len(call.args) == 2 else Constant.of(0)
        start = value.value if isinstance(value, Constant) else None
        return (start, True) if isinstance(start, int) else None
    return None


def _is_spelled_out(iterable: ast.expr) -> bool:
    """`[a, b]`, `zip(halves, (1, 0))`: no data, or one that goes with each of these."""
    if isinstance(iterable, ast.Call) and called_name(iterable) in ("zip", "enumerate"):
        return any(map(_is_spelled_out, iterable.args))
    return isinstance(iterable, ast.List | ast.Tuple)


def _length(iterable: ast.expr, machine: Machine) -> str:
    """`n` of `range(n)`."""
    while isinstance(iterable, ast.Call) and called_name(iterable) not in ("range", "trange"):
        iterable = iterable.args[0]
    assert isinstance(iterable, ast.Call)
    return source_of(machine, iterable.args[0]) if len(iterable.args) == 1 else ""


def _worth_unrolling(items: Items) -> bool:
    """Known optimizers, models or phases, or a few numbers."""
    return len(items.values) <= 4 or any(
        not isinstance(v, Constant) or isinstance(v.value, str) for v in items.values
    )


def _accumulates(text: str) -> bool:
    lowered = text.lower()
    return any(
        word in lowered
        for word in ("accum", "micro", "iter_size", "grad_acc", "virtual", "batch_split", "subdiv")
    )
