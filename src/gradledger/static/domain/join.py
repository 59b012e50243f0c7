"""What a name stands for where two ways through the code meet."""

from __future__ import annotations

from itertools import compress, filterfalse
from operator import is_not

from gradledger.ledger.events import UNKNOWN_WEIGHT, Weight
from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NO_PLACES,
    NONE,
    Constant,
    Count,
    External,
    Items,
    Known,
    Optimizer,
    Parameters,
    Scaler,
    Scheduler,
    Thing,
    kept_in,
    reach_of,
)
from gradledger.static.ir.keys import within


def joined(one: dict[str, Known], other: dict[str, Known]) -> dict[str, Known]:
    """The names of both, each as it can be on either way."""
    store = dict(one)
    # Two ways differ in few of many names: these are picked out without a step of Python for each.
    differ = map(is_not, map(one.get, other), other.values())
    for name, value in compress(other.items(), differ):
        mine = one.get(name)
        if mine is None:
            store[name] = _of_some_round(value)
        elif mine != value:
            store[name] = join(mine, value)
    for name in filterfalse(other.__contains__, one):
        store[name] = _of_some_round(one[name])
    return store


def _of_some_round(value: Known) -> Known:
    """Where only one way computes it, on the other it is what it was in an earlier round."""
    if not isinstance(value, Thing) or value.plain or not value.reach:
        return value
    return replace(value, passes=NO_PLACES, depth=max(value.depth - 1, 0))


def join(one: Known, other: Known) -> Known:
    """One value that stands for both."""
    if one == other:
        return one
    if not (isinstance(one, Thing) and isinstance(other, Thing)):
        one, other = _of_some_round(one), _of_some_round(other)
    for a, b in ((one, other), (other, one)):
        if b == NONE and isinstance(a, Thing):
            return replace(a, optional=True)
        if b == NONE and isinstance(a, Optimizer | Scaler | Scheduler):
            return a
        if isinstance(a, Scheduler) and isinstance(b, Thing):
            return replace(a, perhaps=True)
        if isinstance(a, Optimizer | Scaler | Scheduler) and isinstance(b, Thing | Constant):
            return a
        if isinstance(a, Optimizer) and b == Items(()):
            return a  # a list that a loop fills: one stands for all of them
        if isinstance(a, Items) and a.values == (b,):
            return a  # `if not isinstance(nets, list): nets = [nets]`
    match one, other:
        case Thing(), Thing():
            return _things(one, other)
        case Optimizer(), Optimizer():
            keys = None if one.keys is None or other.keys is None else one.keys | other.keys
            return replace(one, keys=keys, torchs=one.torchs and other.torchs)
        case Items(), Items():
            return _items(one, other)
        case Parameters(), Parameters():
            return Parameters(one.keys | other.keys, one.of | other.of)
        case (Count(), Count() | Constant()) | (Constant(), Count()):
            return Count("")
        case External(), External() if _home(one) == _home(other):
            return External(f"{_home(one)}.Chosen")  # `make = optim.SGD if … else optim.Adam`
        case (Thing(), Constant() | Count()):
            return replace(one, weight=UNKNOWN_WEIGHT, plain=one.plain)
        case (Constant() | Count(), Thing()):
            return replace(other, weight=UNKNOWN_WEIGHT, plain=other.plain)
        case _:
            return _either(one, other)


def _either(one: Known, other: Known) -> Thing:
    """What reaches these on one way, and those on the other."""
    ones, others = reach_of(one), reach_of(other)
    reach = ones & others if ones and others else ones | others
    maybe = (ones | others) - reach
    return Thing(reach=reach, maybe=maybe, kept=kept_in(one) | kept_in(other))


def _home(made: External) -> str:
    """The module of a class or a function."""
    return made.dotted.rpartition(".")[0]


def _items(one: Items, other: Items) -> Items:
    """Lists that may have been added to: with all that can be in them."""
    if len(one.values) == len(other.values) and one.names == other.names:
        return Items(tuple(map(join, one.values, other.values)), one.names)
    longer, shorter = (one, other) if len(one.values) > len(other.values) else (other, one)
    named = {value.name for value in longer.values if isinstance(value, Optimizer)}
    added = [
        value
        for value in shorter.values
        if value not in longer.values
        if not (isinstance(value, Optimizer) and value.name in named)
    ]
    names = longer.names if not added else ()
    return Items((*longer.values, *added)[:8] if added else longer.values, names)


def _things(one: Thing, other: Thing) -> Thing:
    if one.plain and other.plain:
        return replace(one, key=one.key if one.key == other.key else "")
    a, b = (one, other) if not one.plain else (other, one)
    if not b.plain and _is_part(a.key, b.key):
        a, b = b, a  # a whole stands for its parts, which are reached or not
    other_key = b.key and not b.plain and not _is_part(b.key, a.key)
    reach = one.reach | other.reach | ({b.key} if other_key else set())
    if one.reach and other.reach and not (one.plain or other.plain):
        reach = one.reach & other.reach
    return replace(
        a,
        reach=reach,
        maybe=(one.reach | other.reach | one.maybe | other.maybe) - reach,
        weight=_weights(one.weight, other.weight),
        scaler=one.scaler if one.scaler == other.scaler else None,
        scaled_if=one.scaled_if if one.scaled_if == other.scaled_if else None,
        kept=one.kept | other.kept,
        carried=one.carried & other.carried if not (one.plain or other.plain) else frozenset(),
        local=one.local and other.local,
        sure=one.sure and other.sure,
        depth=min(one.depth, other.depth),
        passes=one.passes | other.passes if one.passes and other.passes else NO_PLACES,
        by_name=one.by_name or other.by_name,
        among=one.among or other.among,
        optional=one.optional or other.optional,
        cls=one.cls if one.cls == other.cls else None,
        built=one.built if one.built == other.built else "",
        own=one.own or other.own or (one.cls is not None and other.cls is not None),
        copied=one.copied and other.copied,
    )


def _is_part(key: str, whole: str) -> bool:
    return bool(whole) and key != whole and within(key, whole)


def _weights(one: Weight, other: Weight) -> Weight:
    return one if one == other else UNKNOWN_WEIGHT
