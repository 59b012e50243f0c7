"""Scopes, and what the names in them are looked up, held and forgotten by."""

from __future__ import annotations

from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static import budget
from gradledger.static.domain.scopes import Scope
from gradledger.static.domain.values import Known, kept_in
from gradledger.static.ir.program import Forget
from gradledger.static.project.module import Module
from gradledger.static.project.name_uses import Uses
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def file_uses(machine: Machine) -> Uses:
    """What this file does with its names."""
    module = machine.context.scope.module
    if module.uses is None:
        module.uses = Uses(module.source)
    return module.uses


def new_scope(
    machine: Machine,
    name: str,
    module: Module,
    *,
    parent: str | None,
    via: Place | None,
    node: ast.AST,
) -> Scope:
    """A scope for a call."""
    machine.effort.count_work(1 + module.size(node) // budget.LETTERS_IN_A_STEP)
    log = machine.log
    log.numbered += 1
    id = f"{name}#{log.numbered}:"
    loops = len(machine.context.loops)
    scope = Scope(id, module, parent=parent, via=via, node=node, loops=loops)
    log.scopes[id] = scope
    return scope


def load(machine: Machine, full: str) -> Known | None:
    """What a name in the store stands for; loops take note of who looks."""
    for loop in machine.context.loops:
        if full not in loop.assigned:
            loop.read.add(full)
    return machine.flow.store.get(full)


def note_holder(machine: Machine, value: Known, name: str, scope: Scope) -> None:
    """By this name, too, somebody has what was kept."""
    for place in kept_in(value) & machine.log.recorded.keys():
        machine.log.holders.setdefault(place, set()).add((scope, name))


def forget(machine: Machine, variable: str) -> None:
    """Conditions on this variable have to be asked again."""
    machine.out.append(Forget(variable))
    frozen_if = machine.flow.frozen_if
    if frozen_if:
        asked = machine.log.condition_names.get(variable, set()) | {variable}
        left = frozenset(f for f in frozen_if if f[1] not in asked)
        machine.flow = replace(machine.flow, frozen_if=left)


def note_unknown(machine: Machine, node: ast.AST, why: str) -> None:
    """Says that something here could not be followed."""
    machine.log.unknown.append((machine.at(node), why))


def is_local(machine: Machine) -> bool | None:
    """Whether ranks do not average here; None where nothing is said of that."""
    return True if machine.flow.held_back else machine.context.local
