"""What options are by default, where the file says so: for arguments, fields and parameters."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.places import Place
from gradledger.ledger.tuples import NamedTuple
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast

SWITCHES = {"store_true": False, "store_false": True}
"""Actions of argparse that are a default by themselves."""


class Stated(NamedTuple):
    """A default that the file states."""

    at: Place
    value: object
    spelled: str
    """What a person sets it by: `--fp16`, or the name in the code."""
    is_literal: bool = False
    """It is set to that in the code, for all who do not edit it."""


def defaults_of(name: str, module: Module) -> Iterator[tuple[Place, object]]:
    """What the file makes this, for those who say nothing else; and where."""
    return ((stated.at, stated.value) for stated in stated_defaults(name, module))


def stated_defaults(name: str, module: Module) -> Iterator[Stated]:
    """Each default that the file states for this name."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Call(args=[*flags], keywords=keywords) if _names(flags, keywords, name):
                flag = _longest(flags) or name
                for value in _values(keywords):
                    yield Stated(Place(module.path, node.lineno), value, flag)
            case ast.AnnAssign(ast.Name(id=target), value=ast.Constant(value)) if target == name:
                yield Stated(Place(module.path, node.lineno), value, name)
            case ast.arguments():
                for argument, default in _defaults(node):
                    if argument.arg == name and isinstance(default, ast.Constant):
                        yield Stated(Place(module.path, argument.lineno), default.value, name)


def stated_sizes(name: str, module: Module) -> Iterator[Stated]:
    """What the file says of the size of windows: defaults, and what it sets the name to."""
    yield from stated_defaults(name, module)
    for node in ast.walk(module.tree):
        match node:
            case ast.Assign([ast.Name(id=target) | ast.Attribute(attr=target)], value):
                given = [(target, value)]
            case ast.keyword(arg=str(target), value=value):
                given = [(target, value)]
            case ast.Dict(keys, values):
                named = zip(keys, values, strict=True)
                given = [(str(k.value), v) for k, v in named if isinstance(k, ast.Constant)]
            case _:
                continue
        for target, value in given:
            if target == name and isinstance(value, ast.Constant):
                yield _literal(value, name, module)


def _literal(value: ast.Constant, name: str, module: Module) -> Stated:
    return Stated(Place(module.path, value.lineno), value.value, name, is_literal=True)


def _values(keywords: list[ast.keyword]) -> Iterator[object]:
    """What an option is without a word: its `default`, or that of a switch."""
    given = {k.arg: k.value.value for k in keywords if isinstance(k.value, ast.Constant)}
    if "default" in given:
        yield given["default"]
    elif given.get("action") in SWITCHES and not any(k.arg == "default" for k in keywords):
        yield SWITCHES[str(given["action"])]


def _longest(flags: list[ast.expr]) -> str:
    said = (f.value for f in flags if isinstance(f, ast.Constant) and isinstance(f.value, str))
    return max((flag for flag in said if flag.startswith("-")), key=len, default="")


def _names(flags: list[ast.expr], keywords: list[ast.keyword], name: str) -> bool:
    """`add_argument("--window", …)`, `option("-w", "--window")`, `add_argument(dest="window")`."""
    said = [k.value for k in keywords if k.arg == "dest"] or flags
    return any(
        isinstance(flag, ast.Constant)
        and isinstance(flag.value, str)
        and flag.value.lstrip("-").replace("-", "_") == name
        for flag in said
    )


def _defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    plain = [*arguments.posonlyargs, *arguments.args]
    if arguments.defaults:
        yield from zip(plain[-len(arguments.defaults) :], arguments.defaults, strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
