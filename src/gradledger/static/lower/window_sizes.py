"""What a file says of the sizes of windows: that its data fills them, and what it sets them to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from gradledger.static.source import syntax as ast
from gradledger.static.source.vocabulary import WINDOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.project.module import Module


def dividing(tree: ast.Module) -> frozenset[str]:
    """Names of numbers that divide how much data there is, or the program does not go on.

    `if len(batches) % n: raise`, `assert samples % (size * n) == 0`. Not `batch_size % n`: how many
    parts a batch has says nothing of how many batches there are. And those of windows of which
    only so many are begun: `if i // n >= windows: continue`, `range(windows * n)`, `if i >= usable:
    break` where `usable = windows * n`; or of a length that is rounded down to `n`.
    """
    found = {*_begun(tree), *_multiplied(tree), *_rounded_down(tree)}
    for division in _insisted(tree):
        factors = _factors(division.right)
        if len(factors) == 1 and isinstance(division.right, ast.Name):
            factors = _factors(_value_of(division.right.id, tree) or division.right) or factors
        if len(factors) > 1 or _is_length(division.left):
            found |= factors
    return frozenset(found)


def counts_updates(schedule: ast.Call, module: Module) -> bool:
    """Does a schedule count updates, as far as its length tells?

    `T_max=epochs * len(loader)` counts batches, and moves with each of them for good reason.
    """
    given = [*schedule.args[1:], *(k.value for k in schedule.keywords if k.arg != "optimizer")]
    lengths = [value for value in given if not _is_said(value)]
    if not lengths or not module.says_in_text(WINDOW.pattern):
        return not lengths
    return any(_by_windows(value, module.tree) for value in lengths)


def _is_said(value: ast.expr) -> bool:
    """A number, or a function of how far it is in which there is nothing but numbers?"""
    if not isinstance(value, ast.Lambda):
        return isinstance(value, ast.Constant)
    own = {argument.arg for argument in value.args.args} | {"min", "max", "float", "math"}
    return all(n.id in own for n in ast.walk(value.body) if isinstance(n, ast.Name))


def _by_windows(number: ast.expr, tree: ast.Module, deep: int = 3) -> bool:
    """Is it divided by the number of micro-batches in a window, itself or what it is made of?"""
    for node in ast.walk(number):
        match node:
            case ast.BinOp(_, ast.Div() | ast.FloorDiv(), size) if WINDOW.search(ast.unparse(size)):
                return True
            case ast.Name(id=name) if deep and (value := _value_of(name, tree)) is not None:
                if _by_windows(value, tree, deep - 1):
                    return True
    return False


def _insisted(tree: ast.Module) -> Iterator[ast.BinOp]:
    """Divisions that have to come out even: the file raises otherwise."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assert(ast.Compare(ast.BinOp(op=ast.Mod()) as division, [ast.Eq()], _))
                | ast.Assert(ast.UnaryOp(ast.Not(), ast.BinOp(op=ast.Mod()) as division))
                | ast.While(ast.BinOp(op=ast.Mod()) as division)
            ):
                yield division
            case ast.If(
                ast.Compare(ast.BinOp(op=ast.Mod()) as division, [ast.NotEq() | ast.Gt()], _)
                | (ast.BinOp(op=ast.Mod()) as division),
                [*_, ast.Raise()],
            ):
                yield division


def _begun(tree: ast.Module) -> Iterator[str]:
    """The sizes of windows that are left out where they would not be filled."""
    for node in ast.walk(tree):
        match node:
            case ast.If(ast.Compare(left, [ast.GtE() | ast.Eq()], _), [ast.Continue()]):
                if isinstance(left, ast.Name):
                    left = _value_of(left.id, tree) or left
                if isinstance(left, ast.BinOp) and isinstance(left.op, ast.FloorDiv):
                    yield from _factors(left.right)
            case ast.If(ast.Compare(_, [ast.GtE() | ast.Eq()], [ast.Name(id=name)]), [ast.Break()]):
                if isinstance(end := _value_of(name, tree), ast.BinOp):
                    yield from _factors(end)


def _multiplied(tree: ast.Module) -> Iterator[str]:
    """The factors of how often a loop goes round: `range(windows * n)`, `islice(loader, …)`."""
    for node in ast.walk(tree):
        match node:
            case ast.For(iter=ast.Call(func=ast.Name(id="range" | "trange"), args=[rounds, *_])):
                pass
            case ast.Call(
                func=ast.Name(id="islice") | ast.Attribute(attr="islice"), args=[_, rounds]
            ):
                pass
            case _:
                continue
        if isinstance(rounds, ast.Name):
            rounds = _value_of(rounds.id, tree) or rounds
        if isinstance(rounds, ast.BinOp):
            yield from _factors(rounds)


def _rounded_down(tree: ast.Module) -> Iterator[str]:
    """`len(loader) // n * n`, `len(loader) - len(loader) % n`: who uses that leaves no rest."""
    idle = _assigned_for_nothing(tree)
    for node in ast.walk(tree):
        match node:
            case ast.BinOp() if node in idle:
                pass
            case ast.BinOp(ast.BinOp(_, ast.FloorDiv(), size), ast.Mult(), again) | ast.BinOp(
                again, ast.Mult(), ast.BinOp(_, ast.FloorDiv(), size)
            ) if ast.unparse(size) == ast.unparse(again):
                yield from _factors(size)
            case ast.BinOp(length, ast.Sub(), ast.BinOp(same, ast.Mod(), size)):
                if ast.unparse(length) == ast.unparse(same):
                    yield from _factors(size)


def _assigned_for_nothing(tree: ast.Module) -> set[ast.expr]:
    """The values of names that nobody looks at."""
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    looked_at = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    return {
        value
        for name, value in _values(tree).items()
        if value is not None and name not in looked_at
    }


def _factors(node: ast.expr) -> set[str]:
    match node:
        case ast.BinOp(left, ast.Mult(), right):
            return _factors(left) | _factors(right)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return {name}
        case _:
            return set()


def _value_of(name: str, tree: ast.Module) -> ast.expr | None:
    """What is assigned to a name, where the file does that once."""
    return _values(tree).get(name)


@lru_cache(maxsize=2)
def _values(tree: ast.Module) -> dict[str, ast.expr | None]:
    """What each name is assigned; None where that is done more than once."""
    values: dict[str, ast.expr | None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    values[target.id] = None if target.id in values else node.value
    return values


def _is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def settings(tree: ast.AST) -> dict[str, set[object]]:
    """What a file sets names to: `window = 1` in a class, `Options(window=1)`, `{"window": 1}`.

    The default of a parameter, or of a field, is what others may set otherwise.
    """
    found: dict[str, set[object]] = {}
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)], value=value)
                | ast.keyword(arg=str(name), value=value)
            ) if not (isinstance(value, ast.Name) and value.id == name):  # which is handed on
                said = value.value if isinstance(value, ast.Constant) else ...
                found.setdefault(name, set()).add(said)
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.setdefault(name, set()).add(...)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        said = value.value if isinstance(value, ast.Constant) else ...
                        found.setdefault(key.value, set()).add(said)
    return found
