"""What options are by default, where the file says so: for arguments, fields and parameters."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.places import Place
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast


def defaults_of(name: str, module: Module) -> Iterator[tuple[Place, object]]:
    """What the file makes this, for those who say nothing else; and where."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Call(args=[*flags], keywords=keywords) if _names(flags, keywords, name):
                for given in keywords:
                    if given.arg == "default" and isinstance(given.value, ast.Constant):
                        yield Place(module.path, node.lineno), given.value.value
            case ast.AnnAssign(ast.Name(id=target), value=ast.Constant(value)) if target == name:
                yield Place(module.path, node.lineno), value
            case ast.arguments():
                for argument, default in _defaults(node):
                    if argument.arg == name and isinstance(default, ast.Constant):
                        yield Place(module.path, argument.lineno), default.value


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
