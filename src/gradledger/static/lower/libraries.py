"""The tables by which a machine finds what a library does: by what is called, and on what."""

from __future__ import annotations

from collections.abc import Callable

from gradledger.ledger.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.domain.values import Known, Thing
    from gradledger.static.lower.arguments import Arguments
    from gradledger.static.lower.machine import Machine
    from gradledger.static.source import syntax as ast

    Called = Callable[[Machine, ast.Call], Known | None]
    Made = Callable[[Machine, str, Arguments, ast.Call], Known | None]
    CalledObject = Callable[[Machine, Known, ast.Call], Known | None]
    Method = Callable[[Machine, Thing, str, ast.Call], Known | None]
    Backward = Callable[[Machine, Thing, Thing, ast.Call], Known | None]
    Manager = Callable[[Machine, ast.Call, ast.withitem, list[Callable[[], None]]], None]
    Returned = Callable[[Machine, Known, ast.Return], None]


class Libraries(NamedTuple):
    """Handlers of libraries' functions, objects and managers; None means: somebody else's."""

    functions: dict[str, Called]
    """By the qualified name of a function, which evaluates its arguments itself."""
    made: tuple[Made, ...]
    """What a function gives, by its name and what it is given."""
    called: tuple[CalledObject, ...]
    """What an object of a library's does that is called like a function."""
    methods: tuple[Method, ...]
    """Methods of the objects that libraries give."""
    backward: tuple[Backward, ...]
    """`engine.backward(loss)`, by whose engine it is."""
    managers: dict[str, Manager]
    """By what a manager is called in `with`."""
    returned: Returned
    """What a hook returns to the framework that calls it."""
