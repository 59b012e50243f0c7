"""The leaves that have been met: their names, and what their `.grad` looked like last."""

from __future__ import annotations

import operator
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import repeat
from operator import is_not, ne
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from gradledger.ledger.events import NO_CELLS, CellNames, Traits
from gradledger.runtime.program.objects import (
    attributes,
    elements,
    is_a,
    items,
    key_in_words,
    parameters_in,
)
from gradledger.runtime.program.places import Places
from gradledger.runtime.program.variables import variables
from gradledger.runtime.tensors.dtensors import is_dtensor, local_part, version
from gradledger.runtime.tensors.dtypes import LOW_PRECISION
from gradledger.runtime.tensors.torch_names import needed
from gradledger.runtime.tensors.weak_references import TensorRef

State = tuple[int, int] | None
"""Identity and version of a gradient; None where there is none. Holds nothing alive.

The version of a DTensor counts the changes of its local part, too.
"""

WAITS = 0
"""The identity of what waits outside of `.grad` to be reduced, or moves about (FSDP)."""

Slots = tuple[int, ...]
"""Positions of leaves in the list of all."""

MOST = 100
"""Items and attributes of a variable that are looked through for modules."""

grad_of: Callable[[Tensor], Tensor | None] = vars(torch._C.TensorBase)["grad"].__get__
"""Reads `.grad`, also while the attribute is watched."""
_version_of: Callable[[Tensor | None], int] = needed(Tensor, "_version").__get__
_referent: Any = getattr(operator, "call", weakref.ref.__call__)
"""Asked of many at a time, all three are called by `map`: no frame and no instruction for each."""


class Cells:
    """Every leaf by its slot. Leaves are not kept alive: a slot whose leaf died is used again."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._refs: list[TensorRef] = []
        self._slots: dict[int, int] = {}
        self._free: list[int] = []
        self.names: list[str] = []
        self.seen: list[State] = []
        """What each gradient looked like when it was looked at last."""
        self.died: list[int] = []
        """Slots whose leaf has died since the last call of `bury`."""
        self.elsewhere: Callable[[], frozenset[int]] = frozenset
        """The slots that passes of other threads may be writing to just now."""
        self.parts: set[int] = set()
        """The slots of DTensors, and of what else is spread over ranks."""
        self.part: Callable[[int, Tensor | None], tuple[Tensor | None, State]] = whole_of
        """Of such a slot and its `.grad`: what there is of it on this rank, and how it looks."""
        self._like: Counter[str] = Counter()
        self._taken: set[str] = set()
        self._sets: dict[tuple[bool, ...], tuple[Slots, CellNames]] = {}
        self._named: dict[Slots, CellNames] = {}
        self._all: tuple[Slots, CellNames] | None = None
        """All of them, until another is met."""
        self._groups: dict[tuple[int, ...], tuple[Slots, CellNames]] = {}
        """The slots and names of leaves that came together, until one is met or dies."""

    # Meeting

    def slot(self, leaf: Tensor) -> int | None:
        """The leaf's slot, if it has been met."""
        slot = self._slots.get(id(leaf))
        return slot if slot is not None and self._refs[slot]() is leaf else None

    def group(self, leaves: list[Tensor]) -> tuple[Slots, CellNames]:
        """The slots and the names of those that have been met."""
        group = tuple(map(id, leaves))
        known = self._groups.get(group)
        if known is None:
            if len(self._groups) > 100:
                self._groups.clear()
            met = (self.slot(leaf) for leaf in leaves)
            slots = tuple(slot for slot in met if slot is not None)
            known = self._groups[group] = slots, self.names_of(slots)
        return known

    def meet(self, leaves: Iterable[Tensor]) -> list[int]:
        """Give each leaf that is new a slot and a name; the slots of the new ones."""
        new = [leaf for leaf in dict.fromkeys(leaves) if self.slot(leaf) is None]
        spelled = self._spelled({id(leaf) for leaf in new}) if new else {}
        return [self._add(leaf, spelled.get(id(leaf))) for leaf in new]

    def _add(self, leaf: Tensor, wanted: str | None) -> int:
        if wanted is None or wanted in self._taken:
            kind = wanted or ("parameter" if isinstance(leaf, nn.Parameter) else "leaf")
            while wanted is None or wanted in self._taken:
                self._like[kind] += 1
                wanted = f"{kind}-{self._like[kind]}"
        slot = self._free.pop() if self._free else len(self._refs)
        ref = TensorRef(leaf, partial(self._mourn, slot))
        state = look_at(leaf)
        if slot == len(self._refs):
            self._refs.append(ref)
            self.names.append(wanted)
            self.seen.append(state)
        else:
            self._refs[slot], self.names[slot], self.seen[slot] = ref, wanted, state
        self._slots[id(leaf)] = slot
        if is_dtensor(leaf):
            self.parts.add(slot)
        self._taken.add(wanted)
        self._sets.clear()
        self._named.clear()
        self._groups.clear()
        self._all = None
        return slot

    def let_go(self) -> None:
        """Refer to no leaf any more; names and states stay."""
        self._refs = [_gone()] * len(self._refs)
        self._slots.clear()
        self._groups.clear()

    def _mourn(self, slot: int, _: object) -> None:
        self._groups.clear()
        self.died.append(slot)

    def bury(self) -> tuple[list[int], CellNames]:
        """The slots and names of those that have died; from now on, others may have them."""
        if not self.died:
            return [], NO_CELLS
        slots: list[int] = []
        while self.died:
            slot = self.died.pop()
            slots.append(slot)
            self.seen[slot] = None
            self._free.append(slot)
        buried = frozenset(self.names[slot] for slot in slots)
        self._taken -= buried
        self._like.clear()
        dead = set(slots)
        self.parts -= dead
        self._slots = {known: slot for known, slot in self._slots.items() if slot not in dead}
        return slots, buried

    def _spelled(self, wanted: set[int]) -> dict[int, str]:
        """`model.fc.weight`: as the program would call it, the innermost frame first."""
        found: dict[int, str] = {}
        spaces = [variables(frame) for frame in self._places.frames(sys._getframe(1))]
        for space in spaces:
            for variable, value in list(space.items()):
                for prefix, module in modules_of(variable, value):
                    for name, parameter in parameters_in(module):
                        if id(parameter) in wanted:
                            found.setdefault(id(parameter), f"{prefix}.{name}")
        # Modules first: the `p` of a loop over parameters says nothing.
        for space in spaces:
            for variable, value in list(space.items()):
                if id(value) in wanted:
                    found.setdefault(id(value), variable)
        return found

    # Asking

    def leaf(self, slot: int) -> Tensor | None:
        """The leaf itself, if it lives."""
        return self._refs[slot]()

    def names_of(self, slots: Slots) -> CellNames:
        """The names in these slots; the same set each time."""
        known = self._named.get(slots)
        if known is None:
            if len(self._named) > 1000:
                self._named.clear()
            known = self._named[slots] = frozenset(self.names[slot] for slot in slots)
        return known

    def named(self, leaves: Iterable[Tensor]) -> CellNames:
        """The names of those that have been met."""
        slots = (self.slot(leaf) for leaf in leaves)
        return frozenset(self.names[slot] for slot in slots if slot is not None)

    def holding(self, grads: Iterable[Tensor]) -> CellNames:
        """The cells that hold these gradients."""
        wanted = {id(grad) for grad in grads}
        return frozenset(
            name
            for name, state in zip(self.names, self.look(), strict=True)
            if state is not None and state[0] in wanted
        )

    def sharing(self, given: Iterable[Tensor]) -> Slots:
        """The slots whose gradients are these tensors, or lie in the same memory."""
        memory = {_memory(tensor) for tensor in given} - {None}
        busy = self.elsewhere()
        return tuple(
            slot
            for slot, ref in enumerate(self._refs)
            if slot not in busy
            and (leaf := ref()) is not None
            and (grad := grad_of(leaf)) is not None
            and _memory(grad) in memory
        )

    # Looking

    def look(self) -> list[State]:
        """What each gradient looks like now."""
        return self.survey_but(self.elsewhere())[1]

    def survey(self) -> tuple[list[Tensor | None], list[State]]:
        """Each gradient, and what it looks like now. No other thread may be in a pass."""
        grads: list[Tensor | None]
        try:
            grads = list(map(grad_of, map(_referent, self._refs)))
        except TypeError:  # one of them has died
            grads = [None if (leaf := ref()) is None else grad_of(leaf) for ref in self._refs]
        states = states_of(grads)
        for slot in self.parts:
            grads[slot], states[slot] = self.part(slot, grads[slot])
        return grads, states

    def survey_but(
        self, busy: frozenset[int], only: Iterable[int] | None = None
    ) -> tuple[list[Tensor | None], list[State]]:
        """The same for all, or only for some, but those that are busy: they look as they did."""
        now = list(self.seen)
        grads: list[Tensor | None] = [None] * len(now)
        for slot in range(len(now)) if only is None else only:
            leaf = None if slot in busy else self._refs[slot]()
            if leaf is not None:
                grads[slot], now[slot] = grad_of(leaf), look_at(leaf)
                if slot in self.parts:
                    grads[slot], now[slot] = self.part(slot, grads[slot])
        return grads, now

    def emptied(self, only: Iterable[int] | None) -> Slots:
        """Those, of all or of some, that held a gradient and do so no more; from now on, none."""
        seen, refs = self.seen, self._refs
        found = tuple(
            slot
            for slot in (range(len(seen)) if only is None else only)
            if seen[slot] is not None
            and ((leaf := refs[slot]()) is None or grad_of(leaf) is None)
            and not (slot in self.parts and self.part(slot, None)[1] is not None)
        )
        for slot in found:
            seen[slot] = None
        return found

    def see(self, leaves: list[Tensor], slots: Slots) -> None:
        """Look at the gradients of these leaves, which are in these slots."""
        if self.parts and not self.parts.isdisjoint(slots):
            states = self.states(slots)
        else:
            states = states_of(list(map(grad_of, leaves)))
        if self._all is not None and slots == self._all[0]:
            self.seen = states
        else:
            for slot, state in zip(slots, states, strict=True):
                self.seen[slot] = state

    def states(self, slots: Slots) -> list[State]:
        """What the gradients in these slots look like now."""
        refs, parts = self._refs, self.parts
        grads = [None if (leaf := refs[slot]()) is None else grad_of(leaf) for slot in slots]
        return [
            self.part(slot, grad)[1] if slot in parts else state_of(grad)
            for slot, grad in zip(slots, grads, strict=True)
        ]

    def empty(self, slots: Slots) -> bool:
        """Is there no gradient in any of these slots?"""
        refs = self._refs
        if self.parts and not self.parts.isdisjoint(slots):
            return not any(self.states(slots))
        there = refs if len(slots) == len(refs) else map(refs.__getitem__, slots)
        try:
            return not any(map(is_not, map(grad_of, map(_referent, there)), repeat(None)))
        except TypeError:  # one of them has died
            return not any(self.states(slots))

    def changed(self, now: list[State]) -> tuple[Slots, CellNames]:
        """Those that look different from when they were looked at last."""
        if all(now) and not any(self.seen):
            if self._all is None:
                slots = tuple(range(len(now)))
                self._all = slots, self.names_of(slots)
            return self._all
        mask = tuple(map(ne, self.seen, now))
        known = self._sets.get(mask)
        if known is None:
            if len(self._sets) > 1000:
                self._sets.clear()
            slots = tuple(slot for slot, differs in enumerate(mask) if differs)
            known = self._sets[mask] = slots, self.names_of(slots)
        return known


def _gone() -> TensorRef:
    return TensorRef(torch.empty(0, device="cpu"))


def _memory(tensor: Tensor) -> int | None:
    """Where its values are; None for what has no one place (sparse tensors)."""
    return tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided else None


def states_of(grads: list[Tensor | None]) -> list[State]:
    """What these gradients look like now."""
    try:
        states: Any = zip(map(id, grads), map(_version_of, grads), strict=True)
        return list(states)
    except TypeError:  # one of them is None
        return list(map(state_of, grads))


def state_of(grad: Tensor | None) -> State:
    """What one gradient looks like now."""
    return None if grad is None else (id(grad), version(grad))


def whole_of(slot: int, grad: Tensor | None) -> tuple[Tensor | None, State]:
    """A gradient's part on this rank, where nothing of it waits elsewhere."""
    return (None if grad is None else local_part(grad)), state_of(grad)


def look_at(leaf: Tensor) -> State:
    """What the gradient of one leaf looks like now."""
    return state_of(grad_of(leaf))


def traits(leaf: Tensor) -> Traits:
    """What a cell is."""
    grad = grad_of(leaf)
    if grad is not None:
        dtype: torch.dtype = grad.dtype
    else:
        dtype = getattr(leaf, "grad_dtype", None) or leaf.dtype
    return Traits(
        parameter=isinstance(leaf, nn.Parameter),
        frozen=not leaf.requires_grad,
        low_precision=dtype in LOW_PRECISION,
    )


def modules_of(variable: str, value: object) -> Iterator[tuple[str, nn.Module]]:
    """The modules that a variable is, or has as attributes or items."""
    if is_a(value, nn.Module):
        yield variable, value
        return
    if is_a(value, type) or is_a(value, ModuleType):
        return
    held = items(value)
    if held is not None:
        parts = [(f"{variable}[{key_in_words(key)}]", part) for key, part in held[:MOST]]
    elif (inside := elements(value)) is not None:
        parts = [(f"{variable}[{number}]", part) for number, part in enumerate(inside[:MOST])]
    else:
        borne = list(attributes(value).items())[:MOST]
        parts = [(f"{variable}.{name}", part) for name, part in borne]
    for name, part in parts:
        if is_a(part, nn.Module):
            yield name, part
