"""GL403: a scaler is not updated, if nothing that may be the same scaler is."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.events import Step, Unscale, Update
from gradledger.ledger.findings import Finding
from gradledger.static.certainty.sight import Sight
from gradledger.static.ir.blocks import events_in
from gradledger.static.lower.spelling import last_name
from gradledger.static.source import syntax as ast


def is_not_updated(finding: Finding, sight: Sight) -> bool:
    """With several optimizers: nothing updates the scaler, and each that is updated steps itself.

    One that only updates may be the same, under another name.
    """
    if any(isinstance(e, Update) and e.at == finding.at for e in events_in(sight.program)):
        return _is_all_followed(finding, sight)
    if sight.one_steps(finding.at):
        return True
    steps = [e for e in events_in(sight.program) if isinstance(e, Step) and e.scaler is not None]
    updated = {e.scaler for e in events_in(sight.program) if isinstance(e, Update)}
    left = {e.scaler for e in steps if e.at == finding.at}
    return left.isdisjoint(updated) and updated <= {e.scaler for e in steps}


def _is_all_followed(finding: Finding, sight: Sight) -> bool:
    """Was each call that may record something for the scaler followed, by its name?

    Nor may the file hand the scaler to code that isn't followed.
    """
    module = sight.root.module
    if module is None or module.path != finding.at.path:
        return False
    nodes = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    names = {_owner(n) for n in nodes if n.lineno == finding.at.line and _called(n) == "update"}
    followed = {e.at.line for e in events_in(sight.program) if isinstance(e, Step | Unscale)}
    for node in nodes:
        if _called(node) in ("step", "unscale_") and _owner(node) in names:
            if node.lineno not in followed:
                return False
        elif any(last_name(given) in names for given in _given(node)):
            return False
    return True


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _owner(call: ast.Call) -> str:
    return last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _given(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)
