"""Cures that fit the code, where what the rule says can't be done there, or isn't meant."""

from __future__ import annotations

from gradledger.ledger.events import Backward
from gradledger.ledger.findings import CURE, Evidence, Finding
from gradledger.ledger.values import replace
from gradledger.static.certainty.condition_words import plain
from gradledger.static.domain.values import Thing
from gradledger.static.ir.blocks import events_in
from gradledger.static.ir.program import Program
from gradledger.static.lower.apex import APEX
from gradledger.static.lower.root import Root
from gradledger.static.lower.root_objects import names_of
from gradledger.static.lower.untrained_attributes import is_like_an_owned
from gradledger.static.source import syntax as ast

_BEHIND_THE_BLOCK = "clip behind the `with amp.scale_loss(…)` block: apex unscales at its end"


def with_cure(finding: Finding, program: Program, root: Root) -> Finding:
    """The finding, with the cure that fits if the rule's does not."""
    cure = ""
    if finding.rule == "GL401" and _is_scaled_by_apex(finding, program):
        cure = _BEHIND_THE_BLOCK
    elif finding.rule == "GL601":
        cure = _for_targets(finding, root)
    elif finding.rule == "GL701":
        cure = _for_what_is_kept(finding, root)
    if not cure:
        return finding
    return replace(finding, evidence=(*finding.evidence, Evidence(CURE, None, cure)))


def _is_scaled_by_apex(finding: Finding, program: Program) -> bool:
    deposits = {e.at for e in finding.evidence if e.what == "deposited"}
    return any(
        isinstance(event, Backward) and event.at in deposits and event.scaler == APEX
        for event in events_in(program)
    )


def _for_targets(finding: Finding, root: Root) -> str:
    """Nets of the same class as one that is trained, or copies of it, are targets as a rule."""
    if root.machine is None:
        return ""
    called = names_of(root)
    names = {cell: called.get(cell, cell) for cell in sorted(finding.cells)}
    for cell, name in names.items():
        net = root.machine.flow.store.get(name)
        alike = isinstance(net, Thing) and is_like_an_owned(root.machine, net)
        if not alike and cell not in root.machine.log.copies:
            return ""
    told = " and ".join(f"`{plain(name)}`" for name in names.values())
    gives, them = ("gives", "it") if len(names) == 1 else ("give", "them")
    return (
        f"if {told} only {gives} targets, compute {them} under torch.no_grad() or detach {them}; "
        "else pass the parameters to an optimizer"
    )


def _for_what_is_kept(finding: Finding, root: Root) -> str:
    """The line as it should be, where a loss or an output is added or appended by its name."""
    scopes = () if root.machine is None else root.machine.log.scopes.values()
    modules = {scope.module.path: scope.module for scope in scopes}
    module = modules.get(finding.at.path, root.module)
    if module is None or module.path != finding.at.path:
        return ""
    try:
        (statement,) = ast.parse(module.lines[finding.at.line - 1].strip()).body
    except (SyntaxError, ValueError, IndexError):
        return ""  # it has several lines, or several statements
    match statement:
        case ast.AugAssign(target, ast.Add(), ast.Name(name)):
            before, after = f"{ast.unparse(target)} += ", ""
        case ast.Expr(ast.Call(ast.Attribute(_, "append") as method, [ast.Name(name)], [])):
            before, after = f"{ast.unparse(method)}(", ")"
        case _:
            return ""
    if "loss" not in name.lower():
        return f"keep it without its graph: {before}{name}.detach(){after}"
    number = f"{before}{name}.item(){after}"
    return f"keep the number: {number}, or {name}.detach() to avoid the wait for the device"
