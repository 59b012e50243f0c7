"""Notes of what could speak against a finding, kept on the objects that they are about."""

from __future__ import annotations

from gradledger.ledger.places import Place
from gradledger.static.domain.values import Optimizer, Thing
from gradledger.static.ir.effects import Effect
from gradledger.static.ir.keys import NO_KEYS, Keys
from gradledger.static.ir.notes import Note, ZeroGradEscapes
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def note(
    machine: Machine,
    kind: type[Note],
    at: Place,
    keys: Keys = NO_KEYS,
    optimizers: Keys = NO_KEYS,
) -> None:
    """Keeps what could speak against a finding about these objects.

    A name that can't be traced to an object may be any of them, and so may the note's.
    """
    if all(_is_traced(machine, key) for key in keys):
        machine.log.notes.add(kind(at, keys, optimizers))
    else:
        machine.log.notes.add(kind(at))


def note_effects(machine: Machine, kind: type[Note], effects: list[Effect], node: ast.AST) -> None:
    """Notes something on the objects of these effects, as far as each says which they are."""
    if effects and all(e.keys or e.optimizer for e in effects):
        keys = NO_KEYS.union(*(e.keys for e in effects))
        optimizers = frozenset(e.optimizer for e in effects if e.optimizer)
        note(machine, kind, machine.at(node), keys, optimizers)
    else:
        note(machine, kind, machine.at(node))


def note_lent_clear(machine: Machine, base: Thing | Optimizer, name: str, node: ast.AST) -> None:
    """`zero = optimizer.zero_grad`: whoever has it clears, under another name."""
    if name != "zero_grad":
        return
    at = machine.at(node)
    if isinstance(base, Optimizer):
        note(machine, ZeroGradEscapes, at, optimizers=frozenset({base.name}))
    else:
        keys = base.reach | base.maybe | ({base.key} if base.key else NO_KEYS)
        note(machine, ZeroGradEscapes, at, keys)


def _is_traced(machine: Machine, key: str) -> bool:
    """True if the code makes the object, or a scope has it by a name of its own."""
    known = machine.flow.store.get(key)
    made = isinstance(known, Thing) and (known.cls is not None or known.built != "")
    return made or key.rpartition(":")[2].isidentifier()
