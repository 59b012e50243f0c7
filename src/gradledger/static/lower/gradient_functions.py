"""What is done to gradients all at once, by torch's functions: clipped, measured, zeroed."""

from __future__ import annotations

from gradledger.static.domain.values import PLAIN, Constant, Gradients, Known, Optimizer, Parameters
from gradledger.static.ir.effects import Clears, Clips, Edits, Excuses, Spends
from gradledger.static.ir.keys import NO_KEYS
from gradledger.static.ir.notes import ScaledUnits
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.arithmetic import keys_of
from gradledger.static.lower.attributes import named_by
from gradledger.static.lower.noting import note
from gradledger.static.lower.unknown_calls import reads_gradient
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


INFINITE = Pattern(r"\binf\b")

HUGE = 1e6
"""A norm that no gradient has: who clips to it wants to know the norm."""

TIMES_THE_SCALE = Pattern(r"[*/] *[\w.]+\.get_scale\(|get_scale\( *\) *\*", words=("get_scale(",))
"""Words of code that puts a limit into the unit of scaled gradients, or a norm out of it."""


def clip(machine: Machine, arguments: Arguments, node: ast.Call) -> None:
    """Clips gradients: those of parameters, or of an optimizer."""
    changes = not _only_measures(machine, arguments, node)
    note_units(machine, node)
    for value in arguments.positional[:2]:
        if isinstance(value, Parameters) and value.of and not value.keys:
            machine.emit(Clips(machine.at(node), optimizer=min(value.of), changes=changes))
            return
        if isinstance(value, Optimizer):
            machine.emit(Clips(machine.at(node), optimizer=value.name, changes=changes))
            return
    first = arguments.get(0, "parameters")
    keys = keys_of(machine, first) if first is not None else NO_KEYS
    machine.emit(Clips(machine.at(node), keys, changes=changes))


def _only_measures(machine: Machine, arguments: Arguments, node: ast.Call) -> bool:
    """`clip_grad_norm_(parameters, float("inf"))`: for the norm that it gives."""
    limit = arguments.get(1, "max_norm")
    if isinstance(limit, Constant) and isinstance(limit.value, int | float):
        return limit.value >= HUGE
    given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "max_norm")]
    return any(INFINITE.search(ast.unparse(value)) for value in given)


def foreach(machine: Machine, name: str, node: ast.Call) -> Known:
    """`torch._foreach_zero_(gradients)`: what is done to each, done to all at once."""
    first = machine.eval(node.args[0])
    for argument in node.args[1:]:
        machine.eval(argument)
    if isinstance(first, Gradients):
        keys, optimizer, leaf = named_by(first.of)
        if name == "_foreach_zero_":
            machine.emit(Clears(machine.at(node), keys, optimizer, leaf, to_none=False))
        else:
            machine.emit(Edits(machine.at(node), keys, optimizer, leaf, "change"))
    elif isinstance(first, Parameters) and reads_gradient(machine, node):
        spend_by_hand(machine, node, first)
    return PLAIN


def note_units(machine: Machine, node: ast.AST) -> None:
    """Where the file puts things into the unit of scaled gradients, nobody knows which."""
    if machine.context.scope.module.says_anywhere(TIMES_THE_SCALE):
        note(machine, ScaledUnits, machine.at(node))


def spend_by_hand(machine: Machine, node: ast.AST, parameters: Parameters) -> None:
    """A step without an optimizer: whosever they are, that backward was of use."""
    machine.emit(Spends(machine.at(node), *named_by(parameters)))
    machine.emit(Excuses(machine.at(node)))
