"""What calls hand over, and how functions take it."""

from __future__ import annotations

from gradledger.ledger.tuples import NamedTuple
from gradledger.ledger.values import replace
from gradledger.static.domain.scopes import Scope
from gradledger.static.domain.values import FunctionDef, Items, Known, Optimizer, Thing
from gradledger.static.lower.names import in_module, lookup
from gradledger.static.lower.scope_names import note_holder
from gradledger.static.lower.spelling import is_static
from gradledger.static.lower.value_names import register
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


class Arguments(NamedTuple):
    """What a call hands over."""

    positional: tuple[Known, ...] = ()
    named: dict[str, Known] = {}  # noqa: RUF012 - never changed

    def get(self, place: int, name: str) -> Known | None:
        """An argument, by its place or its name."""
        if place < len(self.positional):
            return self.positional[place]
        return self.named.get(name)

    def values(self) -> list[Known]:
        """All of them."""
        return [*self.positional, *self.named.values()]


def bind_arguments(
    machine: Machine,
    function: FunctionDef,
    scope: Scope,
    arguments: Arguments,
    *,
    root: bool = False,
) -> None:
    """Gives the function's parameters their values; of a root, nobody knows them."""
    node = function.node
    given = [*function.preset, *arguments.positional]
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    if function.bound is not None and names and not is_static(node):
        given.insert(0, function.bound)
        scope.self_value = function.bound
    elif function.cls is not None and names and names[0] == "self" and not given:
        scope.self_value = lookup(machine, "self")
    scope.cls = function.cls
    defaults = dict(zip(names[::-1], node.args.defaults[::-1], strict=False))
    keyword_only = [a.arg for a in node.args.kwonlyargs]
    defaults |= {
        name: default
        for name, default in zip(keyword_only, node.args.kw_defaults, strict=True)
        if default is not None
    }
    for place, name in enumerate([*names, *keyword_only]):
        full = scope.id + name
        value: Known
        if place < len(given) and place < len(names):
            value = given[place]
        elif name in arguments.named:
            value = arguments.named[name]
        elif name in defaults and "**" not in arguments.named and not root:
            value = in_module(machine, function.module, defaults[name])
            if not isinstance(defaults[name], ast.Constant):
                value = Thing(full)
        else:
            value = Thing(full)
        if isinstance(value, Thing) and not value.key and not value.plain:
            if value.copied:
                machine.log.copies.add(full)
            value = replace(value, key=full, copied=False)
        elif isinstance(value, Optimizer) and not value.name:  # made right in the call
            value = register(machine, replace(value, name=name))
        machine.set(full, value)
        note_holder(machine, value, name, scope)
    if node.args.vararg:
        machine.set(scope.id + node.args.vararg.arg, Items(tuple(given[len(names) :])))
    if node.args.kwarg:
        machine.set(scope.id + node.args.kwarg.arg, Thing(scope.id + node.args.kwarg.arg))
