"""The loss that is handed to backward, without what divides and scales it."""

from __future__ import annotations

from gradledger.ledger.events import Weight
from gradledger.ledger.tuples import NamedTuple
from gradledger.static.adopt.cycle import Cycle
from gradledger.static.adopt.names import scaler_of
from gradledger.static.adopt.refusal import NotAdopted
from gradledger.static.adopt.sites import Site
from gradledger.static.adopt.window import Window
from gradledger.static.fix.calls import plain
from gradledger.static.fix.script import Statement
from gradledger.static.ir.effects import Deposits
from gradledger.static.source import syntax as ast


class Loss(NamedTuple):
    """One backward pass."""

    site: Site
    value: ast.expr
    """What is walked back from, without the scaler and a division around it."""
    scaler: str | None
    divided: ast.BinOp | ast.AugAssign | None
    """The division by the window's size, where it isn't in the call itself."""
    where: Statement | None
    """The statement of that."""
    retains: ast.expr | None


def losses(cycle: Cycle, window: Window) -> list[Loss]:
    """All of a micro-batch. NotAdopted where one of them isn't plain."""
    found = [_loss(cycle, site, window) for site in cycle.deposits]
    first = found[0].site.statement
    for other in found[1:]:
        if other.site.statement.block is not first.block or window.size is not None:
            lines = " and ".join(str(loss.site.line) for loss in found)
            raise NotAdopted(f"the losses on lines {lines} aren't always summed in the same way")
    return found


def _loss(cycle: Cycle, site: Site, window: Window) -> Loss:
    _check_place(cycle, site)
    call = site.call
    match call:
        case ast.Call(func=ast.Attribute(value=value, attr="backward"), args=[]):
            pass
        case _:
            raise NotAdopted(f"the backward pass on line {site.line} isn't loss.backward()")
    retains = next((k.value for k in call.keywords if k.arg == "retain_graph"), None)
    if isinstance(retains, ast.Constant) and not retains.value:
        retains = None
    if any(k.arg != "retain_graph" for k in call.keywords):
        raise NotAdopted(
            f"backward() on line {site.line} has arguments that a Stepper doesn't take"
        )
    scaler = None
    match value:
        case ast.Call(func=ast.Attribute(value=of, attr="scale"), args=[scaled]):
            scaler = scaler_of(cycle.root, cycle.scope, of)
            if scaler is None:
                raise NotAdopted(f"the scaler on line {site.line} isn't known")
            value = scaled
    plainly = Loss(site, value, scaler, None, None, retains)
    return plainly if window.size is None else _undivided(cycle, plainly, window.size)


def _check_place(cycle: Cycle, site: Site) -> None:
    """Is it done once in each round?"""
    above = site.statement.parent
    while above is not None and above.node is not cycle.loop:
        if not isinstance(above.node, ast.With):
            raise NotAdopted(
                f"backward() on line {site.line} isn't reached in each round: it is inside line "
                f"{above.node.lineno}"
            )
        above = above.parent
    for met in site.met:
        assert isinstance(met.event, Deposits)
        if met.event.local:
            raise NotAdopted(
                f"line {site.line} is under no_sync(), which a Stepper does by itself: remove that"
            )


def _undivided(cycle: Cycle, loss: Loss, size: ast.expr) -> Loss:
    """The loss before the division by the number of micro-batches, which a Stepper does itself."""
    match loss.value:
        case ast.BinOp(left=whole, op=ast.Div(), right=by) if _same(cycle, by, size):
            return loss._replace(value=whole)
    weights = {met.event.weight for met in loss.site.met}  # type: ignore[attr-defined]
    weight: Weight = weights.pop()
    if weights:
        raise NotAdopted(f"the loss on line {loss.site.line} isn't always divided alike")
    spelled = ast.unparse(size)
    if weight.divided_at is None:
        if weight.reduction == "mean" and weight.divisor == 1:
            return loss  # GL301, which a Stepper cures
        raise NotAdopted(
            f"it isn't certain that the loss on line {loss.site.line} is divided by {spelled}, as "
            "a Stepper does, or is a mean that should be"
        )
    found = _division(cycle, weight, size)
    if found is None or plain(loss.value) is None:
        raise NotAdopted(
            f"the loss is divided on line {weight.divided_at.line}, and it isn't certain that this "
            f"is by {spelled}, the size of the window"
        )
    statement, division = found
    target = _target(statement.node)
    if target is None or target != plain(loss.value):
        raise NotAdopted(f"the division on line {statement.node.lineno} isn't of the loss itself")
    return loss._replace(divided=division, where=statement)


def _division(
    cycle: Cycle, weight: Weight, size: ast.expr
) -> tuple[Statement, ast.BinOp | ast.AugAssign] | None:
    at = weight.divided_at
    assert at is not None
    statement = cycle.script.at(at.line, at.column)
    if statement is None or statement.scope is not cycle.scope or not cycle.within(statement):
        return None
    node = statement.node
    if isinstance(node, ast.AugAssign):
        return (statement, node) if _same(cycle, node.value, size) else None
    match node:
        case ast.Assign(targets=[_], value=ast.BinOp(op=ast.Div(), right=by) as division):
            return (statement, division) if _same(cycle, by, size) else None
    return None


def _target(node: ast.stmt) -> str | None:
    match node:
        case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
            return plain(target)
    return None


def _same(cycle: Cycle, one: ast.expr, other: ast.expr) -> bool:
    """True if two expressions are spelled alike, or are the same number."""
    if ast.unparse(one) == ast.unparse(other):
        return True
    values = [_number(cycle, node) for node in (one, other)]
    return values[0] is not None and values[0] == values[1]


def _number(cycle: Cycle, node: ast.expr) -> object:
    from gradledger.static.adopt.names import value_of
    from gradledger.static.domain.values import Constant

    if isinstance(node, ast.Constant):
        return node.value
    value = value_of(cycle.root, node, cycle.scope)
    return value.value if isinstance(value, Constant) else None
