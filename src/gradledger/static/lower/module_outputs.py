"""What a module returns, seen in its own forward: losses, numbers, several things."""

from __future__ import annotations

from collections.abc import Callable

from gradledger.ledger.events import UNKNOWN_WEIGHT
from gradledger.ledger.values import replace
from gradledger.static import budget
from gradledger.static.domain.values import (
    PLAIN,
    UNKNOWN,
    ClassDef,
    FunctionDef,
    Items,
    Known,
    Thing,
    is_plain,
)
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.attributes import held_loss, method_of
from gradledger.static.lower.call_graph import gives_several
from gradledger.static.lower.function_text import callee_of, length_of
from gradledger.static.lower.inline import call_function
from gradledger.static.lower.return_values import quietly
from gradledger.static.lower.scope_names import is_local
from gradledger.static.models import graphless
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


LAYERS = Pattern(r"\bnn\.[A-Z]\w*\(|Parameter\(|Linear\(|Conv\dd\(|Embedding\(")
"""Words of modules that have parameters, or others in them."""

LOSSES = Pattern(r"cross_entropy|_loss\(|Loss\(|loss_fn|criterion")


def forward_result(
    machine: Machine, forward: FunctionDef, arguments: Arguments, node: ast.Call
) -> Known:
    """What it returns; what it does on the way is not written down."""
    machine.known.interesting[callee_of(forward)] = True
    before = machine.log.inlined.copy(), len(machine.log.unknown)
    listening = machine.flow.listening
    value = quietly(machine, lambda: call_function(machine, forward, arguments, node))
    machine.log.inlined, machine.log.unknown = before[0], machine.log.unknown[: before[1]]
    if not listening and machine.flow.listening:
        # A model that shows where it looks is trained like any other, unless somebody asks.
        from gradledger.static.lower.activation_hooks import asks_for_what_was_heard

        asks = asks_for_what_was_heard(forward, machine.context.scope.module)
        machine.flow = replace(machine.flow, listening=asks)
    return value


def gives_numbers(
    machine: Machine, thing: Thing, forward: FunctionDef, arguments: Arguments, node: ast.Call
) -> bool:
    """Has nothing of what it returns a graph, like the labels that it chooses?"""
    if not forward.module.says(graphless.CHOICES, forward.node):
        return False
    return is_plain(forward_result(machine, replace(forward, bound=thing), arguments, node))


def judged_output(
    machine: Machine,
    thing: Thing,
    forward: FunctionDef | None,
    arguments: Arguments,
    node: ast.Call,
) -> Thing | None:
    """What a module without parameters makes of what a net gave: a loss, or how good it is."""
    if forward is None or thing.cls is None or is_layer(thing.cls):
        return None
    if length_of(forward.node) >= budget.LONG_FUNCTION:
        return None
    value = forward_result(machine, replace(forward, bound=thing), arguments, node)
    if is_plain(value) and all(map(is_plain, arguments.values())):
        return UNKNOWN  # it may have been given nets when it was made
    return value if isinstance(value, Thing) else None


def losses_of(
    machine: Machine, thing: Thing, arguments: Arguments, made: Thing, node: ast.Call
) -> Known | None:
    """What a model's own forward returns, where it computes the loss itself."""
    forward = method_of(machine, thing.cls, "forward") if thing.cls is not None else None
    if thing.cls is None or forward is None or not _computes_losses(machine, thing.cls, forward):
        return None

    def as_output(part: Known) -> Known:
        weight = part.weight if isinstance(part, Thing) else made.weight
        sure = weight != UNKNOWN_WEIGHT or (isinstance(part, Thing) and part.sure)
        among = isinstance(part, Thing) and part.among
        return replace(made, weight=weight, sure=sure, local=bool(is_local(machine)), among=among)

    value = forward_result(machine, replace(forward, bound=thing), arguments, node)
    return _outputs(value, as_output)


def _computes_losses(machine: Machine, cls: ClassDef, forward: FunctionDef) -> bool:
    """Does it, by its words, or by what it calls: a loss of torch's under any name?"""
    if LOSSES.search(forward.module.text(forward.node)):
        return True
    called = forward.module.calls(forward.node)[0]
    return any(held_loss(machine, cls, name) is not None for name in called)


def several_outputs(
    machine: Machine, thing: Thing, arguments: Arguments, made: Thing, node: ast.Call
) -> Known:
    """What a model gives, of which some may be no more than numbers: the ids that it chose."""
    forward = method_of(machine, thing.cls, "forward") if thing.cls is not None else None
    if forward is None or not gives_several(machine, forward):
        return made
    value = forward_result(machine, replace(forward, bound=thing), arguments, node)
    numbers = isinstance(value, Items) and any(map(is_plain, value.values))

    def as_output(part: Known) -> Known:
        seen = isinstance(part, Thing) and part.sure and not part.among
        return replace(made, among=made.sure and not seen)

    return (_outputs(value, as_output) or made) if numbers else made


def _outputs(value: Known, as_output: Callable[[Known], Known]) -> Known | None:
    """Each of what a model returns, where that is a tensor; else a number, or nobody knows what."""

    def of(part: Known) -> Known:
        if is_plain(part):
            return PLAIN  # a count, an accuracy, a loss to be shown
        if isinstance(part, Items):
            return replace(part, values=tuple(map(of, part.values)))
        return as_output(part)

    if isinstance(value, Items):
        return replace(value, values=tuple(map(of, value.values)))
    return of(value) if isinstance(value, Thing) else None


def is_layer(cls: ClassDef) -> bool:
    """May a module of the project's own have parameters? A loss that only computes has none."""
    bases = {ast.unparse(base).rpartition(".")[2] for base in cls.node.bases}
    return bases != {"Module"} or bool(LAYERS.search(cls.module.text(cls.node)))
