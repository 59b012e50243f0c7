"""Windows whose size is an option that is 1 by default: what breaks them is off until it is set.

The fault is in the code all the same, for whoever sets the option. A finding says so, and where.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradledger.ledger.findings import Evidence, Finding
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static import syntax as ast
from gradledger.static.lowering import rounds
from gradledger.static.lowering.blocks import events_in, pieces
from gradledger.static.module import Module
from gradledger.static.program import Loop, Program, Tick

OF_WINDOWS = frozenset({"GL203", "GL301", "GL302", "GL502", "GL504", "GL802"})
"""Rules that a window of one micro-batch can't break."""

NOTE = "with 1, all is well"


def told(findings: Iterable[Finding], program: Program, module: Module) -> Iterator[Finding]:
    """The findings; with those that need a larger window than the default, where that stands."""
    for finding in findings:
        place = None
        if finding.rule in OF_WINDOWS:
            names = {
                rounds.size_of(tick.ends.rpartition(" ")[0]) for tick in _ticks(finding, program)
            }
            places = [_set_to_one(name, module) for name in sorted(names)]
            place = places[0] if places and None not in places else None
        if place is None:
            yield finding
        else:
            yield replace(finding, evidence=(*finding.evidence, Evidence("default", place, NOTE)))


def _ticks(finding: Finding, program: Program) -> Iterator[Tick]:
    """The windows of the loops that the finding is in."""
    for piece in pieces(program):
        if isinstance(piece, Loop) and any(e.at == finding.at for e in events_in(piece)):
            yield from (inner for inner in pieces(piece) if isinstance(inner, Tick))


def _set_to_one(name: str, module: Module) -> Place | None:
    """Where the file makes this 1, for those who say nothing else."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Call(args=[*flags], keywords=keywords) if _names(flags, keywords, name):
                if any(k.arg == "default" and _is_one(k.value) for k in keywords):
                    return Place(module.path, node.lineno)
            case ast.AnnAssign(target=ast.Name(id=target), value=value) if target == name:
                if _is_one(value):
                    return Place(module.path, node.lineno)
            case ast.arguments():
                for argument, default in _defaults(node):
                    if argument.arg == name and _is_one(default):
                        return Place(module.path, argument.lineno)
    return None


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


def _is_one(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value == 1 and value.value is not True
