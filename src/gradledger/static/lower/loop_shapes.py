"""What the tree of a loop tells: whether it draws data, what it sets back, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.static.lower.spelling import called_name
from gradledger.static.source import syntax as ast

PASSING_ON = frozenset(["tqdm", "enumerate", "iter", "track", "progress_bar"])
"""They give what they are given, one by one, as long as there is more."""

DRAWING = ("batch", "sample", "get_data")
"""Words in the names of functions that give other data with each call."""


def draws_data(loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Does each round go on to other data, and differ in nothing else?

    Not by the first piece of what it has just begun.
    """
    calls: list[ast.Call] = []
    begun: dict[str, int] = {}
    for inner in ast.walk(loop):
        match inner:
            case ast.Call():
                calls.append(inner)
            case ast.Assign([ast.Name(id=name)], ast.Call(func=ast.Name(id="iter"))):
                begun[name] = min(inner.lineno, begun.get(name, inner.lineno))
    return any(_draws_by(call, begun) for call in calls) and not (
        any(map(_picks, calls)) or _knows_its_number(loop)
    )


def _picks(call: ast.Call) -> bool:
    """A round that picks something for itself, or differentiates, may be a task of its own."""
    match call.func:
        case ast.Attribute(ast.Name("random"), "choice" | "choices" | "sample"):
            return True
        case ast.Attribute(ast.Name("autograd") | ast.Attribute(attr="autograd"), "grad"):
            return True
    return False


def _knows_its_number(loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Does a counting round do something else because of its number? To ask is not to do."""
    if isinstance(loop, ast.While) or not isinstance(loop.target, ast.Name):
        return False
    return any(_goes_by(loop.target.id, statement) for statement in loop.body)


def _goes_by(number: str, node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name):
            return name == number
        case ast.Compare() | ast.JoinedStr() | ast.withitem() | ast.Call(ast.Name("print")):
            return False
        case ast.IfExp(test=test) if _names(number, test):
            return True
        case ast.If(test=test, body=body, orelse=orelse) if _names(number, test):
            return any(map(_assigns, (*body, *orelse)))
        case ast.Call() if any(word in called_name(node).lower() for word in DRAWING):
            # `get_batch(i)` is given a number; `get_batch(sources[i])`, a source of its own.
            inner = ast.walk(node)
            return any(isinstance(n, ast.Subscript) and _names(number, n.slice) for n in inner)
    return any(_goes_by(number, child) for child in ast.iter_child_nodes(node))


def _names(name: str, node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node))


def _assigns(node: ast.AST) -> bool:
    """Does it make anything that what follows may use?"""
    stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return any(isinstance(name.ctx, ast.Store) for name in stored)


def _draws_by(call: ast.Call, begun: dict[str, int]) -> bool:
    """Is this `next(batches)`, of what was begun before the loop, or by its name the like?"""
    name = called_name(call).lower()
    if name != "next":
        # Told by words: who gives data is out of sight as often as not.
        return any(word in name for word in DRAWING)
    match call.args:
        case [ast.Name(id=source), *_]:
            return source not in begun or begun[source] > call.lineno
    return True


def sets(counter: ast.Name, loop: ast.AST) -> bool:
    """Is it set to a number in the loop: `pending = 0`?"""
    return any(
        isinstance(inner, ast.Assign)
        and isinstance(inner.value, ast.Constant)
        and any(isinstance(t, ast.Name) and t.id == counter.id for t in inner.targets)
        for inner in ast.walk(loop)
    )


def is_enough(node: ast.AST) -> bool:
    """`if steps >= most: break`: the data is not what ends the loop."""
    match node:
        case ast.If(test=ast.Compare(ops=[ast.GtE() | ast.Gt()]), body=[*_, ast.Break()]):
            return True
    return False


def fails_in_time(loop: ast.For | ast.AsyncFor) -> bool:
    """`if i == 5: raise …`: the data is never seen to its end."""
    return any(
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Compare)
        and isinstance(statement.test.comparators[0], ast.Constant)
        and isinstance(statement.body[-1], ast.Raise)
        for statement in loop.body
    )


def stops_behind_a_step(loop: ast.For | ast.AsyncFor) -> bool:
    """`if i + 1 > len(batches) - n: break` next to the step: no window is begun that has no end."""
    return any(
        isinstance(around, ast.If)
        and any(is_enough(inner) and "len(" in ast.unparse(inner) for inner in around.body)
        and ".step(" in ast.unparse(around)
        for around in ast.walk(loop)
    )


def is_set_back(name: str, loop: ast.AST) -> bool:
    """`loss = 0` in the loop: what was walked is left behind there."""
    return any(
        isinstance(value, ast.Constant) and ast.unparse(target) == name
        for inner in ast.walk(loop)
        if isinstance(inner, ast.Assign)
        for targets in inner.targets
        for target, value in _pairs(targets, inner.value)
    )


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """`a, b = 0, 1`: each with its own."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value


def is_range(node: ast.expr) -> bool:
    """Does a loop over it count numbers, and go through no data?"""
    if not isinstance(node, ast.Call):
        return False
    name = called_name(node)
    if name in PASSING_ON and node.args:
        return is_range(node.args[0])
    return name in ("range", "trange", "count")


def asks_for_its_turn(loop: ast.For | ast.AsyncFor) -> bool:
    """Is there an `if turn == 1` in it, of the number that it counts?"""
    if not isinstance(loop.target, ast.Name):
        return False
    for inner in ast.walk(loop):
        match inner:
            case ast.Compare(ast.Name(id=name), [ast.Eq() | ast.NotEq()], [ast.Constant(int())]):
                if name == loop.target.id:
                    return True
    return False
