"""A root: a piece of code that was followed, and what came of it."""

from __future__ import annotations

from gradledger.ledger.places import Place
from gradledger.ledger.values import Value
from gradledger.static.domain.values import Optimizer
from gradledger.static.ir.blocks import holds
from gradledger.static.ir.effects import Spends
from gradledger.static.ir.notes import Note
from gradledger.static.ir.program import Program
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

THE_SCRIPT = "the script"

OF_CELLS, OF_SCALERS = "cells", "scalers"
"""What can be judged of a turn: what its optimizers spend and clear, or how it uses its scaler."""


class Root(Value):
    """A piece of code that is followed from its beginning to its end.

    What few ask for is worked out when they do: `root_objects` has what is known of the models,
    `missing_backward` and `freezing` what their names say.
    """

    what: str
    at: Place
    program: Program | None
    """None where it could not be followed."""
    optimizers: dict[str, Optimizer]
    condition_names: dict[str, set[str]]
    unknown: tuple[tuple[Place, str], ...]
    why: str = ""
    """Why it could not be followed."""
    notes: frozenset[Note] = frozenset()
    """What could speak against a finding, and on which object."""
    of_class: str = ""
    """The class whose method it is."""
    node: ast.AST | None = None
    machine: Machine | None = None
    """All that was known at its end; None for a script that is not worth a walk."""
    turns: tuple[Root, ...] = ()
    """The roots that it is made of, where somebody out of sight calls them again and again."""

    @property
    def spends_nothing(self) -> bool:
        """True if it was followed to its end, and came by no step and by nobody who could step."""
        if self.program is None or self.machine is None or self.unknown:
            return False
        log = self.machine.log
        if log.optimizers or log.engine_calls or log.hooked:
            return False
        return not holds(self.program, Spends)

    @property
    def module(self) -> Module | None:
        """The file that it stands in."""
        return None if self.machine is None else self.machine.context.scope.module


def root_of(machine: Machine, what: str, node: ast.AST, program: Program | None, why: str) -> Root:
    """What a walk knows at its end of the code that it began with."""
    return Root(
        what,
        machine.at(node),
        program,
        machine.log.optimizers,
        machine.log.condition_names,
        tuple(machine.log.unknown),
        why,
        frozenset(machine.log.notes),
        node=node,
        machine=machine,
    )
