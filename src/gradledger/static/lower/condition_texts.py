"""Conditions on text and types: by what a test spells, calls or asks the kind of."""

from __future__ import annotations

from gradledger.static.domain.values import Items, Thing
from gradledger.static.lower.condition_keys import UNNAMED, Ask, Condition
from gradledger.static.lower.expressions import source_of
from gradledger.static.lower.quiet_values import attribute_path, eval_quietly, impure
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


_LISTS = frozenset({"list", "tuple", "Sequence", "Iterable"})


def kind_answer(machine: Machine, test: ast.expr) -> bool | None:
    """Is what a test asks the type of of this type? None where nobody knows, or asks."""
    from gradledger.static.domain.types import asked_kind, is_one_of

    asked = asked_kind(test)
    if asked is None:
        return None
    spelled, kinds = asked
    return is_one_of(eval_quietly(machine, spelled), kinds)


def is_list_of_all(machine: Machine, test: ast.Call) -> bool:
    """`isinstance(nets, list)`, of nets that are known one by one."""
    match test.args:
        case [asked, ast.Name(id=kind) | ast.Tuple(elts=[ast.Name(id=kind), *_])]:
            value = eval_quietly(machine, asked)
            return isinstance(value, Items) and not value.names and kind in _LISTS
    return False


def by_text(machine: Machine, test: ast.expr, positive: bool) -> Condition:
    """A condition by how its test is spelled; without a name where that has effects."""
    if impure(machine, test) and not isinstance(test, ast.Call):
        return UNNAMED
    text = attribute_path(machine, test) or f"{machine.context.scope.id}{source_of(machine, test)}"
    return named_condition(machine, text, variables_in(machine, test), positive)


def named_condition(machine: Machine, text: str, variables: set[str], positive: bool) -> Ask:
    """A condition by its text; whoever changes one of these variables changes its answer."""
    for variable in variables:
        machine.log.condition_names.setdefault(variable, set()).add(text)
    return Ask(text, positive)


def variables_in(machine: Machine, node: ast.expr) -> set[str]:
    """The names and paths that an expression is made of."""
    found = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            found.add(machine.context.scope.id + inner.id)
        elif isinstance(inner, ast.Attribute):
            value = eval_quietly(machine, inner)
            if isinstance(value, Thing) and value.key:
                found.add(value.key)
            if path := attribute_path(machine, inner):
                found.add(path)
    return found
