"""What is in a value: the optimizers, the states and the outputs that it holds."""

from __future__ import annotations

from gradledger.static.domain.values import Items, Known, Optimizer, Places, Thing


def optimizers_in(value: Known) -> list[Optimizer]:
    """The optimizers that somebody has who has this value."""
    if isinstance(value, Optimizer):
        return [value]
    if isinstance(value, Items):
        return [found for item in value.values for found in optimizers_in(item)]
    return []


def carried_by(value: Known) -> Places:
    """Where the states in it were handed on."""
    if isinstance(value, Items):
        return frozenset().union(*map(carried_by, value.values))
    return value.carried if isinstance(value, Thing) else frozenset()


def are_among(*values: Known) -> bool:
    """May all that has a graph here be numbers? Times a number of items, a number stays one."""
    things = [v for v in values if isinstance(v, Thing) and not v.plain]
    return bool(things) and all(thing.among for thing in things)
