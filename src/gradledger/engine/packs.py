"""A pack: small parameters in one flat buffer, stepped as one.

Parameters, optimizer state and gradients become views of flat buffers, and the user's own optimizer
is handed the flat parameter in place of its members. Elementwise optimizers can't tell the
difference; what a person looks at (parameters, `optimizer.state`, `state_dict()`) stays in place.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import chain, repeat
from operator import attrgetter, is_
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import increment_version
from torch.optim import Optimizer

from gradledger.engine.ownership import Group
from gradledger.engine.packable import LOW_PRECISION, has_other_holders, let_go_of_storages

_DENSE = {torch.strided}
_layout = attrgetter("layout")
_version = attrgetter("_version")
_address = Tensor.data_ptr

_ALIGNED = 16
"""Elements: members of a multiple of these come first, so that they start on a cache line."""

_ASKED_AT_ONCE = {"cpu", "cuda", "mps"}
"""Devices whose tensors say in one call whether they are where another is."""


class Pack:
    """Parameters of one param group that move together: same type, same device, same step count."""

    def __init__(self, optimizer: Optimizer, group: Group, members: Sequence[Tensor]) -> None:
        self.optimizer = optimizer
        self.group = group
        self.members = sorted(members, key=lambda p: p.numel() % _ALIGNED != 0)
        first = self.members[0]
        with torch.no_grad():
            self.flat = nn.Parameter(torch.cat([p.detach().reshape(-1) for p in self.members]))
            self._places = self._views(self.flat.detach())
            for p, view in zip(self.members, self._places, strict=True):
                p.data = view
        self._addresses = list(map(_address, self._places))
        self._sizes = list(map(Tensor.numel, self._places))
        self._is_at = Tensor.is_set_to if first.device.type in _ASKED_AT_ONCE else _is_at
        self.grad = torch.zeros_like(self.flat.detach())
        self.grad_views = self._views(self.grad)
        self.wide = first.dtype in LOW_PRECISION
        self.sum = torch.zeros_like(self.grad, dtype=torch.float32) if self.wide else self.grad
        self.sum_views = self._views(self.sum) if self.wide else self.grad_views
        self.missing: set[int] | None = None
        """Members that got nothing in this window yet; None before its first deposit."""
        self.state: dict[str, Any] = {}
        """The stand-in's, as its optimizer left it."""
        self._scalars: list[tuple[Tensor, Tensor]] = []
        """Of each step count and its like: the first member's, and all others'."""
        self._counted: list[Tensor] = []
        self._counts: list[int] = []
        """The members' own step counts, and their versions: who changes one makes them differ."""
        self._shown: list[dict[str, Any]] = []
        """Each member's own part of the state, in `optimizer.state`."""
        self._shown_ids: frozenset[int] = frozenset()
        self._values: list[Any] = []
        self._tensors: list[Tensor] = []
        self._tensor_addresses: list[int] = []
        self._bind_state()

    def _views(self, flat: Tensor) -> list[Tensor]:
        pieces = torch.split(flat, [p.numel() for p in self.members])
        return [piece.view(p.shape) for piece, p in zip(pieces, self.members, strict=True)]

    # Deposits ---------------------------------------------------------------------------------

    def add(self, gradients: Sequence[Tensor | None], weight: float) -> bool | None:
        """Adds a gradient for each member to the sum. Says whether there was any.

        None: they can't be added to a flat buffer, and were not.
        """
        absent: set[int] = set()
        present: Any = gradients
        views = self.sum_views
        if any(map(is_, gradients, repeat(None))):
            absent = {i for i, grad in enumerate(gradients) if grad is None}
            present = [grad for grad in gradients if grad is not None]
            views = [view for i, view in enumerate(views) if i not in absent]
        if self.missing is None:
            if not (_DENSE.issuperset(map(_layout, present)) and self._at_addresses()):
                return None
            if not present:
                return False
            self.missing = absent
            if absent:
                self.sum.zero_()
            torch._foreach_copy_(views, present)
            if weight != 1.0:
                self.sum.mul_(weight)
        elif present:
            self.missing &= absent
            if weight == 1.0:
                torch._foreach_add_(views, present)
            else:
                torch._foreach_add_(views, present, alpha=weight)
        return bool(present)

    def restore(self, member: Tensor, total: Tensor) -> None:
        """Takes up the sum of one member."""
        if self.missing is None:
            self.missing = set(range(len(self.members)))
            self.sum.zero_()
        which = next(i for i, p in enumerate(self.members) if p is member)
        self.missing.remove(which)
        self.sum_views[which].copy_(total)

    def forget(self) -> None:
        """Empties the sum."""
        self.missing = None

    def settle(self) -> None:
        """Makes the gradient to be spent out of the sum."""
        if self.wide:
            self.grad.copy_(self.sum)

    # Steps --------------------------------------------------------------------------------------

    def enter(self) -> None:
        """Puts the stand-in's gradient and state where the optimizer will look for them."""
        self.flat.grad = None if self.missing is None else self.grad
        if self.state:
            self.optimizer.state[self.flat] = self.state

    def leave(self) -> None:
        """Takes them away again, and lets the members show what happened."""
        self.flat.grad = None
        state: dict[str, Any] = self.optimizer.state.pop(self.flat, {})
        if len(state) != len(self.state) or not all(map(is_, state.values(), self.state.values())):
            self._publish(state)
        self.state = dict(state)
        for first, others in self._scalars:
            others.copy_(first)
        self.note_step_counts()
        if self.missing is not None:
            # The members were changed behind autograd's back: a graph that saved one has to notice.
            increment_version(self.members)

    def note_step_counts(self) -> None:
        """All members have made the same steps, up to here."""
        self._counts = list(map(_version, self._counted))

    # State --------------------------------------------------------------------------------------

    def _bind_state(self) -> None:
        """Gathers the state that the members have into flat buffers, and gives them views."""
        if self.members[0] not in self.optimizer.state:
            return
        gathered: dict[str, Any] = {}
        for key, value in self.optimizer.state[self.members[0]].items():
            if not isinstance(value, Tensor):
                gathered[key] = value
                continue
            values = [self.optimizer.state[p][key] for p in self.members]
            if value.dim() == 0:
                gathered[key] = torch.stack(values)[0]
            else:
                gathered[key] = torch.cat([v.reshape(-1) for v in values])
        self._publish(gathered)

    def _publish(self, state: dict[str, Any]) -> None:
        """Shows each member its part of the stand-in's state, in `optimizer.state`."""
        self._scalars = []
        parts: dict[str, list[Any]] = {}
        for key, value in state.items():
            if not isinstance(value, Tensor):
                parts[key] = [value] * len(self.members)
            elif value.dim() == 0:
                # A step count for each member, in memory of its own: a plain optimizer that loads
                # this state adds 1 to every one of them.
                vector = value.detach().expand(len(self.members)).clone()
                self._scalars.append((vector[0], vector[1:]))
                parts[key] = list(vector.unbind())
                state[key] = vector[0]
            else:
                parts[key] = list(self._views(value))
        self._shown = [self.optimizer.state[p] for p in self.members]
        self._shown_ids = frozenset(map(id, self._shown))
        for i, shown in enumerate(self._shown):
            for key, values in parts.items():
                _show(shown, key, values[i])
        self._values = list(chain.from_iterable(map(dict.values, self._shown)))
        self._tensors = [value for value in self._values if isinstance(value, Tensor)]
        self._tensor_addresses = list(map(Tensor.data_ptr, self._tensors))
        self._counted = [value for value in self._tensors if value.dim() == 0]
        self.note_step_counts()
        self.state = state

    def in_place(self) -> bool:
        """Whether the members still are the views that they were made: people assign `p.data`."""
        try:
            return all(map(self._is_at, self.members, self._places))
        except NotImplementedError:  # they were moved to a device that can't be asked so
            return False

    def _at_addresses(self) -> bool:
        """Whether the members are in the pack's memory. Quicker than `in_place`, and enough until
        the pack is settled.
        """
        return (
            list(map(_address, self.members)) == self._addresses
            and list(map(Tensor.numel, self.members)) == self._sizes
        )

    def intact(self, entries: Set[int]) -> bool:
        """Whether their state is, too: people load another, clear it, or reset a part of it.

        `entries`: the ids of what is in the optimizer's state. To look members up in it would have
        Python compute the hash of each.
        """
        if not self._shown:
            return self.members[0] not in self.optimizer.state
        if not entries >= self._shown_ids:
            return False
        if sum(map(len, self._shown)) != len(self._values):
            return False
        values = chain.from_iterable(map(dict.values, self._shown))
        return (
            all(map(is_, values, self._values))
            and list(map(Tensor.data_ptr, self._tensors)) == self._tensor_addresses
            and list(map(_version, self._counted)) == self._counts
        )

    def dissolve(self) -> None:
        """Gives every member memory of its own again.

        Where somebody else has taken hold of the pack's memory (a state_dict, another process, a
        weight that was tied to another), all stay where they are, and go on being seen there.
        """
        ours = len(self.members)
        let_go_of_storages()
        if (
            self.in_place()
            and not self.flat.untyped_storage().is_shared()
            and not has_other_holders(self.flat, views=2 * ours)  # with their places
        ):
            for p in self.members:
                p.data = p.detach().clone()
        for key, buffer in self.state.items():
            if isinstance(buffer, Tensor) and buffer.dim():
                if has_other_holders(buffer, views=ours):
                    continue
                for shown in self._shown:
                    if key in shown:
                        _show(shown, key, shown[key].clone())


def _is_at(p: Tensor, place: Tensor) -> bool:
    return (p.data_ptr(), p.shape, p.stride()) == (place.data_ptr(), place.shape, place.stride())


def _show(shown: dict[str, Any], key: str, value: Any) -> None:
    """Sets an entry of the state; a tensor that is there stays, and gets other memory."""
    there = shown.get(key)
    if (
        isinstance(there, Tensor)
        and isinstance(value, Tensor)
        and (there.shape, there.dtype, there.device) == (value.shape, value.dtype, value.device)
    ):
        there.data = value
    else:
        shown[key] = value
