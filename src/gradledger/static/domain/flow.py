"""What holds at one point of the code, and where two ways to that point meet.

A flow is a value: to fork is to keep the flow of before, and where two ways meet there is one
`join` for all of it.
"""

from __future__ import annotations

from gradledger.ledger.values import Value, replace
from gradledger.static.domain.join import joined
from gradledger.static.domain.values import Known
from gradledger.static.ir.keys import NO_KEYS, Keys

Store = dict[str, Known]
"""What names stand for. Nobody changes one in place but the machine that has made it."""


class Flow(Value):
    """Names, and what was done to objects on the way here."""

    store: Store
    frozen: Keys = NO_KEYS
    """What surely has no gradients here."""
    half_frozen: Keys = NO_KEYS
    """What is frozen in some rounds of a loop, and free in others."""
    frozen_if: frozenset[tuple[str, str, bool]] = frozenset()
    """What is frozen where a condition has this answer, and was not before."""
    evaluating: Keys = NO_KEYS
    """Models that were told to evaluate, and not to train since."""
    guarded: Keys = NO_KEYS
    """Objects that surely have been asked whether they have a gradient."""
    grad_in_doubt: bool = False
    """A statement may have switched the recording of graphs off."""
    held_back: bool = False
    """A net of many ranks was told never to average."""
    listening: bool = False
    """Hooks on tensors wait for what the next backward brings them."""
    rest_at: frozenset[tuple[str, int]] = frozenset({("", 0)})
    """The scope, and the loops around, in which a loop with windows has just ended. A script begins
    as if one had ended before it: its first `if` may spend what another has left."""


def join(one: Flow, other: Flow) -> Flow:
    """What holds where two ways meet: for certain what both know, as possible what one does."""
    if one is other:
        return one
    return Flow(
        one.store if one.store is other.store else joined(one.store, other.store),
        frozen=one.frozen & other.frozen,
        half_frozen=one.half_frozen | other.half_frozen,
        frozen_if=_frozen_if(one, other) | _frozen_if(other, one),
        evaluating=one.evaluating & other.evaluating,
        guarded=one.guarded & other.guarded,
        grad_in_doubt=one.grad_in_doubt or other.grad_in_doubt,
        held_back=one.held_back and other.held_back,
        listening=one.listening or other.listening,
        rest_at=one.rest_at | other.rest_at,
    )


def _frozen_if(one: Flow, other: Flow) -> frozenset[tuple[str, str, bool]]:
    """What holds on one way, and on the other too: for the same answer, or for any."""
    return frozenset(f for f in one.frozen_if if f in other.frozen_if or f[0] in other.frozen)


def again(before: Flow, after: Flow, changed: Store) -> Flow:
    """What the next round of a loop begins with, which also finds frozen what the last has."""
    met = join(before, after)
    store = met.store | changed
    return replace(met, store=store, frozen=after.frozen, frozen_if=after.frozen_if)
