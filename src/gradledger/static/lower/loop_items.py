"""What a loop goes through, and how often it goes round."""

from __future__ import annotations

from gradledger.ledger.tuples import NamedTuple
from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    PLAIN,
    UNKNOWN,
    Constant,
    Gradients,
    Items,
    Known,
    Parameters,
    Thing,
    is_plain,
    key_of,
    reach_of,
)
from gradledger.static.ir.keys import NO_KEYS
from gradledger.static.ir.notes import GraphInParts
from gradledger.static.lower.expressions import source_of
from gradledger.static.lower.loop_shapes import is_range
from gradledger.static.lower.noting import note
from gradledger.static.lower.scope_names import file_uses
from gradledger.static.lower.spelling import called_name
from gradledger.static.models.facts import ITERATION_WRAPPERS
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


PIECES = frozenset(["chunk", "split", "tensor_split"])
"""Who cuts a batch into pieces has two or more."""


class Iterated(NamedTuple):
    """What a loop goes through, and how often it goes round, if that stands in the source."""

    items: Known
    rounds: int | None


def items_of(machine: Machine, node: ast.expr) -> Iterated:
    """What a loop over this goes through, and how often it goes round."""
    if isinstance(node, ast.Call):
        name = called_name(node)
        if name in ITERATION_WRAPPERS and node.args:
            given = [items_of(machine, a) for a in node.args if not isinstance(a, ast.Constant)]
            rounds = next((r for _, r in reversed(given) if r is not None), None)
            return Iterated(_wrapped_items(machine, name, [i for i, _ in given], node), rounds)
        if name in ("range", "trange", "count"):
            values = [machine.eval(argument) for argument in node.args]
            known = (
                values[0].value if len(values) == 1 and isinstance(values[0], Constant) else None
            )
            return Iterated(PLAIN, known if isinstance(known, int) else None)
    value = machine.eval(node)
    shape = value.shape if isinstance(value, Thing) else ()
    return Iterated(_items_in(machine, value, node), shape[0] if shape else None)


def _wrapped_items(machine: Machine, name: str, inner: list[Known], node: ast.AST) -> Known:
    """What `zip`, `enumerate`, `tqdm` and the like go through, which are given these."""
    if name == "zip" and any(isinstance(i, Parameters) for i in inner):
        return Items((Items(tuple(inner)),))
    if name == "zip" and len(inner) > 1:
        if all(isinstance(i, Items) for i in inner):
            rows = zip(*(i.values for i in inner), strict=False)  # type: ignore[union-attr]
            return Items(tuple(Items(row) for row in rows))
        if not all(map(is_plain, inner)):
            note(machine, GraphInParts, machine.at(node), NO_KEYS.union(*map(reach_of, inner)))
        return PLAIN
    if name == "enumerate" and inner and isinstance(inner[0], Items):
        pairs = enumerate(inner[0].values)
        return Items(tuple(Items((Constant.of(i), v)) for i, v in pairs))
    return inner[0] if inner else PLAIN


def _items_in(machine: Machine, value: Known, node: ast.AST) -> Known:
    """What a loop over this value goes through: known items, or what any of them is."""
    match value:
        case Items():
            return Items(tuple(map(key_of, value.names))) if value.names else value
        case Parameters() | Gradients():
            return value
        case Thing():
            if value.kept or (value.reach and value.sure):
                return replace(value, key="", leaf=False)
            role = file_uses(machine).role(value.key) if value.key else None
            if role in ("optimizer", "scaler", "scheduler", "model"):
                return replace(value, key=f"{value.key}[*]")
            if value.reach or value.maybe:
                note(machine, GraphInParts, machine.at(node), value.reach | value.maybe)
            return PLAIN
        case _:
            return PLAIN


def least_rounds(machine: Machine, node: ast.For | ast.AsyncFor) -> int:
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


def _accumulates(text: str) -> bool:
    lowered = text.lower()
    return any(
        word in lowered
        for word in ("accum", "micro", "iter_size", "grad_acc", "virtual", "batch_split", "subdiv")
    )


def counter_of(node: ast.For | ast.AsyncFor, machine: Machine) -> tuple[int, bool] | None:
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
        return (0, False) if value.depth >= len(machine.context.loops) - 1 else None
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


def length(iterable: ast.expr, machine: Machine) -> str:
    """`n` of `range(n)`."""
    while isinstance(iterable, ast.Call) and called_name(iterable) not in ("range", "trange"):
        iterable = iterable.args[0]
    assert isinstance(iterable, ast.Call)
    return source_of(machine, iterable.args[0]) if len(iterable.args) == 1 else ""


def is_spelled_out(iterable: ast.expr) -> bool:
    """`[a, b]`, `zip(halves, (1, 0))`: no data, or one that goes with each of these."""
    if isinstance(iterable, ast.Call) and called_name(iterable) in ("zip", "enumerate"):
        return any(map(is_spelled_out, iterable.args))
    return isinstance(iterable, ast.List | ast.Tuple)
