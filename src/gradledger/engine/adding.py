"""`release="eager"` with windows: each gradient is added to its sum as it arrives, and freed.

So the sums and one gradient are in memory, as in a plain loop, and no second full set of gradients.
The price: a backward that fails part of the way has changed some sums and not others, so the window
is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from gradledger.engine.arrivals import Arrivals
from gradledger.engine.sums import Sums


class AddingOnArrival:
    """A backward that ends in the sums instead of the cells."""

    def __init__(self, sums: Sums) -> None:
        self._sums = sums
        self._arrivals = Arrivals(self._add)
        self._weight = 1.0
        self._added: list[Tensor] = []

    def backward(
        self, loss: Tensor, inputs: Sequence[Tensor], weight: float, *, retain_graph: bool
    ) -> list[Tensor]:
        """Adds the gradients, each times the weight. Returns the parameters that got one."""
        self._weight, self._added = weight, []
        try:
            self._arrivals.backward(loss, inputs, retain_graph=retain_graph)
            return self._added
        finally:
            self._added = []

    def _add(self, p: Tensor) -> None:
        grad, p.grad = p.grad, None
        self._sums.add([p], [grad], self._weight, widen=True, keep=True)
        self._added.append(p)
