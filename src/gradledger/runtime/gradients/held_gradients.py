"""Gradients that the program has read from `.grad`, and may still hold."""

from __future__ import annotations

import threading
from collections.abc import Callable

from torch import Tensor

from gradledger.ledger.places import Place
from gradledger.runtime.journal.cells import State
from gradledger.runtime.tensors.torch_names import private
from gradledger.runtime.tensors.value_samples import any_in, edit_between, sample

is_view: Callable[[Tensor], bool] = private(Tensor, "_is_view", lambda grad: True)
"""Where torch doesn't tell, each may be one: its values are compared."""


class HeldGradient:
    """Code has taken a gradient into its hands: how things were just before."""

    def __init__(self, at: Place, leaf: Tensor, state: State, grad: Tensor, owned: bool) -> None:
        self.thread = threading.get_ident()
        self.at = at
        self.state = state
        self.grad = sample(grad)
        # Only who has no optimizer updates parameters by hand.
        self.value = None if owned else sample(leaf)


class Known:
    """A gradient that the program may know by another name, too."""

    def __init__(self, grad: Tensor) -> None:
        self.number = id(grad)
        self._view = is_view(grad)
        self._state: State = None
        self._sample: Tensor | None = None

    def look(self, grad: Tensor, state: State) -> None:
        """Remember its values: a view looks new when another one of the same memory was changed."""
        if self._view and state != self._state:
            self._state, self._sample = state, sample(grad)

    def edit(self, grad: Tensor, seen: State) -> tuple[str, float | None]:
        """What was done to it since it looked like that."""
        if self._sample is not None and self._state == seen:
            return edit_between(self._sample, sample(grad))
        return ("change" if any_in(grad) else "zero"), None
