"""What code does to gradients, as it is met: events whose cells are not known yet.

Which cells there are shows only when all of the code has been walked: an optimizer may be met
after the backward that it spends. `settling` turns effects into events then.
"""

from __future__ import annotations

from gradledger.ledger.events import UNKNOWN_WEIGHT, Event, Weight
from gradledger.ledger.places import Place
from gradledger.static.ir.keys import NO_KEYS, Keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


class Effect(Event):
    """Something that code does to the gradients of what these keys name."""

    keys: Keys = NO_KEYS
    optimizer: str = ""
    """Where it is about an optimizer's own parameters, and not about keys."""
    leaf: bool = False
    """It is about tensors by name, and not about the parameters of a model."""


class Deposits(Effect):
    """A backward pass from a loss that reaches the keys, without what is frozen."""

    frozen: Keys = NO_KEYS
    half_frozen: Keys = NO_KEYS
    weight: Weight = UNKNOWN_WEIGHT
    scaler: str | None = None
    scaled_if: tuple[str, bool, str] | None = None
    """The condition, its answer, and the scaler of the loss where that is so."""
    local: bool | None = None
    """True: under `no_sync`. False: averaged over ranks. None: there are no ranks, or unknown."""
    retains: bool = False
    walks: frozenset[Place] = frozenset()
    passes: frozenset[Place] = frozenset()
    """The calls of models that all of its graph was made by; empty where that is not known."""
    maybe: Keys = NO_KEYS
    """What it reaches on one way through the code, and not on another."""


class Spends(Effect):
    """A step: of an optimizer, or by hand."""

    scaler: str | None = None


class Clears(Effect):
    """A clear, by an optimizer, a model or by hand. `needed`: it goes wrong where there is none."""

    to_none: bool = True
    needed: bool = False


class Clips(Effect):
    """Clipping, or taking the norm."""

    changes: bool = True


class Edits(Effect):
    """A change by hand."""

    kind: Literal["assign", "scale", "change"] = "change"
    factor: float | None = None


class Reads(Effect):
    """A look at gradients."""

    needed: bool = False


class Unscales(Effect):
    """`scaler.unscale_(optimizer)`."""

    scaler: str = ""
    puts_aside: bool = False
    """Gradients that aren't scaled are put aside meanwhile."""


class HandsOver(Effect):
    """Code that cannot be followed gets hold of gradients: it may clear, fill, or leave them."""


class Excuses(Effect):
    """To drop what is deposited so far would be on purpose from here on."""


class Replaces(Effect):
    """A module is exchanged for a new one, which no optimizer knows."""


class TakesOver(Effect):
    """An optimizer is made: it has the parameters that there are now, whatever was exchanged."""


class Resumes(Effect):
    """The state of an optimizer is loaded: in an earlier run it has stepped."""


class Renews(Effect):
    """A new object takes a name: whatever lay in the cells of an old one is no longer there."""
