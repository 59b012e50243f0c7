"""What a branch asks for: a flag, a rest of a window, a guard, a bad batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradledger.static.lower.names import full_name, names_walked_back
from gradledger.static.lower.spelling import called_name, last_name
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import DEPOSITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


_ASK_OF_WHICH_KIND = frozenset(
    {"isinstance", "issubclass", "hasattr", "getattr", "callable", "get"}
)

CLEARS = Pattern(r"zero_grad\(|\._?grad\b", words=("zero_grad(", ".grad", "._grad"))


def asks_for_a_flag(machine: Machine, node: ast.If) -> bool:
    """`if spent: zero_grad()`, where each round says anew what it leaves to the next."""
    match node.test:
        case ast.UnaryOp(ast.Not(), ast.Name(id=flag) | ast.Attribute(attr=flag)):
            pass
        case ast.Name(id=flag) | ast.Attribute(attr=flag):
            pass
        case _:
            return False
    module = machine.context.scope.module
    return module.says(CLEARS, node) and _times_answered(machine, module)[flag] > 1


def _times_answered(machine: Machine, module: Module) -> Counter[str]:
    """How often a file says of each name yes, no, or whether two things are equal.

    `spent = True`, and somewhere else `spent = i % n == 0`.
    """
    known = machine.known.answered.get(id(module))
    if known is None:
        known = machine.known.answered[id(module)] = Counter(_answered(module.tree))
    return known


def asks_for_a_rest(machine: Machine, test: ast.expr, spelled: str) -> bool:
    """`if len(loader) % n`, a name for that, or a flag that the loop before has left."""
    if isinstance(test, ast.Name):
        deep = machine.log.flags.get(full_name(machine, test.id), 0)
        if deep > len(machine.context.loops):
            return True
    if not machine.log.remainders and "%" not in spelled:
        return False
    return any(
        isinstance(inner, ast.Mod)
        or (isinstance(inner, ast.Name) and full_name(machine, inner.id) in machine.log.remainders)
        for inner in ast.walk(test)
    )


def follows_windows(machine: Machine, node: ast.If) -> bool:
    """Is it behind a loop with windows, and no training of its own? Whatever it asks for."""
    ended = (machine.context.scope.id, len(machine.context.loops)) in machine.flow.rest_at
    return ended and not machine.context.scope.module.says(DEPOSITS, node)


def looks_at_a_loss(machine: Machine, test: ast.expr) -> bool:
    """`if loss > 100: continue`: this batch is not to count."""
    names = {inner.id for inner in ast.walk(test) if isinstance(inner, ast.Name)}
    return not names.isdisjoint(names_walked_back(machine)) or any(
        "loss" in n.lower() for n in names
    )


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


def asks_when(test: ast.expr) -> bool:
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


def bounded_above(test: ast.expr) -> ast.expr | None:
    """What is asked to be small: `i` in `i < start` and in `start > i`."""
    match test:
        case ast.Compare(left=low, ops=[ast.Lt() | ast.LtE()]):
            return low
        case ast.Compare(ops=[ast.Gt() | ast.GtE()], comparators=[low]):
            return low
    return None
