"""`no_sync()` that a condition chooses: is it round the forward, or the backward alone?"""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.tuples import NamedTuple
from gradledger.static.lower.spelling import called_name, last_name
from gradledger.static.source import syntax as ast

FLAG = "require_backward_grad_sync"
"""What DistributedDataParallel asks in each forward: will its backward average?"""


def round_backwards_alone(around: ast.AST, block: ast.With | ast.AsyncWith) -> bool:
    """Is the block, and every other one that may hold back syncs, round backwards alone?

    Whether ranks average is settled by the forward: round the backward alone, it has no effect.
    """
    chosen = {name for name, value in _assigned(around) if _is_chosen(value)}
    blocks = [b for b in ast.walk(around) if _holds_back(b, chosen)]
    said = sum(map(_says_no_sync, ast.walk(around)))
    known = sum(
        _says_no_sync(n) for _, v in _assigned(around) if _is_chosen(v) for n in ast.walk(v)
    )
    known += sum(
        _says_no_sync(n)
        for b in blocks
        for item in b.items  # type: ignore[attr-defined]
        for n in ast.walk(item.context_expr)
    )
    return block in blocks and said == known and all(map(_only_backwards, blocks))


class Choice(NamedTuple):
    """`net.no_sync() if test else nullcontext()`, or the other way round."""

    test: ast.expr
    net: ast.expr
    if_true: bool
    """Syncs are held back where the test is true."""


def choice_round_all(around: ast.AST, block: ast.With | ast.AsyncWith) -> Choice | None:
    """The condition by which a block holds back syncs that is round forwards and backwards."""
    if len(block.items) != 1 or not _computes_what_it_walks(block):
        return None
    manager = block.items[0].context_expr
    if isinstance(manager, ast.IfExp):
        return _choice(manager, called=True)
    called = isinstance(manager, ast.Call) and not manager.args
    name = manager.func if isinstance(manager, ast.Call) else manager
    given = _given_just_before(around, block, name.id) if isinstance(name, ast.Name) else None
    return None if given is None else _choice(given, called=not called)


def _choice(value: ast.IfExp, *, called: bool) -> Choice | None:
    """Of managers, or where these are called only by `with`, of what makes them."""
    for held, free, if_true in (
        (value.body, value.orelse, True),
        (value.orelse, value.body, False),
    ):
        if called:
            if not (isinstance(held, ast.Call) and isinstance(free, ast.Call)):
                return None
            held, free = held.func, free.func
        nothing = last_name(free) in ("nullcontext", "ExitStack")
        if nothing and isinstance(held, ast.Attribute) and held.attr == "no_sync":
            return Choice(value.test, held.value, if_true)
    return None


def _given_just_before(around: ast.AST, block: ast.stmt, name: str) -> ast.IfExp | None:
    """What a name was given ahead of a block, in the same round, if that still holds there."""
    if sum(each == name for each, _ in _assigned(around)) != 1:
        return None
    for body in (getattr(node, "body", None) for node in ast.walk(around)):
        if not isinstance(body, list) or block not in body:
            continue
        changed: set[str] = set()
        for statement in reversed(body[: body.index(block)]):
            match statement:
                case ast.Assign([ast.Name(each)], ast.IfExp() as value) if each == name:
                    asked = {n.id for n in ast.walk(value.test) if isinstance(n, ast.Name)}
                    return None if asked & changed else value
            changed |= {
                n.id
                for n in ast.walk(statement)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
    return None


def _computes_what_it_walks(block: ast.With | ast.AsyncWith) -> bool:
    """Is each backward in it of what it has computed itself?"""
    inside = [node for statement in block.body for node in ast.walk(statement)]
    own = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    walked = [
        node.func.value
        for node in inside
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "backward"
    ]
    return bool(walked) and all(
        any(isinstance(n, ast.Name) and n.id in own for n in ast.walk(loss))
        or sum(isinstance(n, ast.Call) for n in ast.walk(loss)) > 1
        for loss in walked
    )


def never_averages(around: ast.AST, flag: ast.Assign) -> bool:
    """`net.require_backward_grad_sync = i == n` in a loop over `range(n)`: is it never true?"""
    test = flag.value
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    said = [n for n in ast.walk(around) if isinstance(n, ast.Attribute) and n.attr == FLAG]
    if len(said) != 1:
        return False
    counter, asked = ast.unparse(test.left), ast.unparse(test.comparators[0])
    for loop in ast.walk(around):
        match loop:
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), [stop])) if name == counter:
                if flag in loop.body:
                    return isinstance(test.ops[0], ast.Eq | ast.GtE) and asked == ast.unparse(stop)
    return False


def _assigned(around: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(around):
        match node:
            case ast.Assign([ast.Name(name)], value):
                yield name, value


def _is_chosen(value: ast.expr) -> bool:
    """`model.no_sync() if … else nullcontext()`."""
    return isinstance(value, ast.IfExp) and any(map(_says_no_sync, ast.walk(value)))


def _holds_back(node: ast.AST, chosen: set[str]) -> bool:
    return isinstance(node, ast.With | ast.AsyncWith) and any(
        (isinstance(item.context_expr, ast.Name) and item.context_expr.id in chosen)
        or any(map(_says_no_sync, ast.walk(item.context_expr)))
        for item in node.items
    )


def _says_no_sync(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "no_sync"


def _only_backwards(block: ast.AST) -> bool:
    """Is nothing called in it but backwards, of what was computed before?"""
    body = getattr(block, "body", [])
    called = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Call)]
    names = {called_name(call) for call in called}
    return "backward" in names and names <= {"backward", "scale", "is_enabled"}
