"""A pack: small parameters in one flat buffer, stepped as one.

Parameters, optimizer state and gradients become views of flat buffers, and the user's own optimizer
is handed the flat parameter in place of its members. Elementwise optimizers can't tell the
difference; what a person looks at (parameters, `optimizer.state`, `state_dict()`) stays in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import is_
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import increment_version
from torch.optim import Optimizer

from gradledger.engine.ownership import Group

LOW_PRECISION = (torch.bfloat16, torch.float16)

_ALIGNED = 16
"""Elements: members of a multiple of these come first, so that they start on a cache line."""


class Pack:
    """Parameters of one param group that move together: same type, same device, same step count."""

    def __init__(self, optimizer: Optimizer, group: Group, members: Sequence[Tensor]) -> None:
        self.optimizer = optimizer
        self.group = group
        self.members = sorted(members, key=lambda p: p.numel() % _ALIGNED != 0)
        first = self.members[0]
        with torch.no_grad():
            self.flat = nn.Parameter(torch.cat([p.detach().reshape(-1) for p in self.members]))
            for p, view in zip(self.members, self._views(self.flat.detach()), strict=True):
                p.data = view
        self._addresses = [p.data_ptr() for p in self.members]
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
        self._shown: list[dict[str, Any]] = []
        """Each member's own part of the state, in `optimizer.state`."""
        self._values: list[Any] = []
        self._bind_state()

    def _views(self, flat: Tensor) -> list[Tensor]:
        pieces = torch.split(flat, [p.numel() for p in self.members])
        return [piece.view(p.shape) for piece, p in zip(pieces, self.members, strict=True)]

    # Deposits ---------------------------------------------------------------------------------

    def holds_sparse(self) -> bool:
        """Whether a member's cell holds what can't be added to a flat buffer."""
        return any(p.grad is not None and p.grad.layout is not torch.strided for p in self.members)

    def add(self, weight: float) -> bool:
        """Moves what the members' cells hold into the sum. Says whether there was anything."""
        grads: list[Tensor | None] = [p.grad for p in self.members]
        present = [g for g in grads if g is not None]
        views = self.sum_views
        if len(present) < len(grads):
            if not present and self.missing is None:
                return False
            views = [v for v, g in zip(views, grads, strict=True) if g is not None]
        if self.missing is None:
            self.missing = set()
            if len(present) < len(grads):
                self.missing.update(i for i, g in enumerate(grads) if g is None)
                self.sum.zero_()
            torch._foreach_copy_(views, present)
            if weight != 1.0:
                self.sum.mul_(weight)
        else:
            if self.missing:
                self.missing.difference_update(i for i, g in enumerate(grads) if g is not None)
            if present:
                torch._foreach_add_(views, present, alpha=weight)
        for p in self.members:
            p.grad = None
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
        if self.missing is not None:
            # The members were changed behind autograd's back: a graph that saved one has to notice.
            increment_version(self.members)

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
                state[key] = parts[key][0]
            else:
                parts[key] = list(self._views(value))
        self._shown = []
        for i, p in enumerate(self.members):
            shown: dict[str, Any] = self.optimizer.state[p]
            shown.clear()
            shown.update((key, values[i]) for key, values in parts.items())
            self._shown.append(shown)
        self._values = list(chain.from_iterable(map(dict.values, self._shown)))
        self.state = state

    def intact(self) -> bool:
        """Whether members and their state still are the views that they were made.

        People assign `p.data`, load other state, or clear `optimizer.state`.
        """
        if list(map(Tensor.data_ptr, self.members)) != self._addresses:
            return False
        state = self.optimizer.state
        if not self._shown:
            return self.members[0] not in state
        if not all(map(is_, map(state.get, self.members), self._shown)):
            return False
        values = list(chain.from_iterable(map(dict.values, self._shown)))
        return len(values) == len(self._values) and all(map(is_, values, self._values))

    def dissolve(self) -> None:
        """Gives every member memory of its own again, where it still has ours."""
        ours = self.flat.untyped_storage().data_ptr()
        for p in self.members:
            if p.untyped_storage().data_ptr() == ours:
                p.data = p.detach().clone()
        for shown in self._shown:
            for key, value in shown.items():
                if isinstance(value, Tensor):
                    shown[key] = value.clone()
